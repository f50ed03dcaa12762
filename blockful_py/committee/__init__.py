# SPDX-License-Identifier: Apache-2.0
"""The committee: its members, the proposals that they decide on, and the coordinator that leads them."""

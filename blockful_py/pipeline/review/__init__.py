# SPDX-License-Identifier: Apache-2.0
"""What members check before they sign."""

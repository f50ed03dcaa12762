# SPDX-License-Identifier: Apache-2.0
"""Recalls of model versions: notices to recipients, cards of hub folders, a loader that refuses them."""

# SPDX-License-Identifier: Apache-2.0
"""Models in the form of others: a folder for the Hugging Face hub, signed as OpenSSF model signing does."""

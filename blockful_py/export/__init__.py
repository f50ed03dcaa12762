# SPDX-License-Identifier: Apache-2.0
"""Exports models in other formats: a folder for the Hugging Face hub, with an OpenSSF model signature."""

# SPDX-License-Identifier: Apache-2.0
"""Families of small language models: made, adopted, asked to forget an owner's texts, and audited."""

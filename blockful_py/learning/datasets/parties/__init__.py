# SPDX-License-Identifier: Apache-2.0
"""Reads parties' own files (CSV, parquet, folders of images) as samples of one kind."""

# SPDX-License-Identifier: Apache-2.0
"""Recipients of model versions, and their answers when a version is recalled."""

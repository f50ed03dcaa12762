# SPDX-License-Identifier: Apache-2.0
"""Members as processes that answer signed messages over HTTP."""

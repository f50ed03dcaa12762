# SPDX-License-Identifier: Apache-2.0
"""What operators see of a process: logs, request ids, metrics and health."""

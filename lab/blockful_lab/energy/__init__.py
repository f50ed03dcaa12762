# SPDX-License-Identifier: Apache-2.0
"""Energy in joules: measured by counters (RAPL, NVML), else from processor time and stated watts."""

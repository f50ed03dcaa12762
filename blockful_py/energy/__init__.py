# SPDX-License-Identifier: Apache-2.0
"""Joules: measured where the machine has counters (RAPL, NVML), else from processor time and stated watts."""

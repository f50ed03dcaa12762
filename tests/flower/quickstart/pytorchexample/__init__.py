# SPDX-License-Identifier: Apache-2.0
"""A Flower app with the modules and functions of Flower's PyTorch quickstart, written after flwr's public
API, on data that needs no download."""

# SPDX-License-Identifier: Apache-2.0
"""Attacks with shadow federations: can models that unlearned be told from models that never knew?"""

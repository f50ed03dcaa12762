# SPDX-License-Identifier: Apache-2.0
"""A discrete-event model of requests, committee and chains, for sizes that one machine cannot run.

Model, assumptions, constants and validation: docs/reference/simulation.md.
"""

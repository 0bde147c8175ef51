# SPDX-License-Identifier: Apache-2.0
"""The grid of all combinations of k, ε and algorithm, predicted before any noise is drawn, and the choice of a cell."""

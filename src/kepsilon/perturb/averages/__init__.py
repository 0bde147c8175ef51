# SPDX-License-Identifier: Apache-2.0
"""Averages of neighbours: groups of at least g records inside each class, their exact sums, and noise on these sums."""

# SPDX-License-Identifier: Apache-2.0
"""Combinations of k-quasi values, counted while records go by."""

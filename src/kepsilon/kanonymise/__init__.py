# SPDX-License-Identifier: Apache-2.0
"""Puts the combinations of a frequency table into equivalence classes of at least k records. Algorithm 1, line 5."""

# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1, line 5: from a frequency table to equivalence classes of at least k records."""

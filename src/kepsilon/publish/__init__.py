# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1, lines 8 to 10: merge, shuffle, write."""

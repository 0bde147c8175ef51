# SPDX-License-Identifier: Apache-2.0
"""What is written of a release: its records, the public manifest and the curator's record. Algorithm 1, lines 8 to 10."""

# SPDX-License-Identifier: Apache-2.0
"""What of the statistics of ε-quasis survives a release: figures before and after, and which of them may be used."""

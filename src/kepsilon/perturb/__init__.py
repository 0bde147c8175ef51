# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1, lines 6 and 7: noise that makes ε-quasis ε-indistinguishable within each class."""

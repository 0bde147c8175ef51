# SPDX-License-Identifier: Apache-2.0
"""What noise does to the values of ε-quasis."""

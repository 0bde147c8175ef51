# SPDX-License-Identifier: Apache-2.0
"""Where tables come from and go to: one file for each kind, and one table of kinds."""

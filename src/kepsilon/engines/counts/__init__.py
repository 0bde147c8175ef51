# SPDX-License-Identifier: Apache-2.0
"""Counts combinations of k-quasi values while records are read, for engines that do not hold them in memory."""

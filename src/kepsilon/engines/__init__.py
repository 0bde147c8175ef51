# SPDX-License-Identifier: Apache-2.0
"""Engines read, hold, count and write records; what is done to a record is decided by kernels elsewhere."""

# SPDX-License-Identifier: Apache-2.0
"""The data sets of the paper: Adult as it is, and stand-ins drawn from a few fitted figures."""

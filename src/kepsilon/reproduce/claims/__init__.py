# SPDX-License-Identifier: Apache-2.0
"""What the paper says, each claim decided by measurements, with a reason where it does not hold."""

# SPDX-License-Identifier: Apache-2.0
"""The functions that a curator calls: anonymise, check, explore, and an estimate of what a large release needs."""

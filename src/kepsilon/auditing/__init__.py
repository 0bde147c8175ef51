# SPDX-License-Identifier: Apache-2.0
"""A release checked against its original and its policy, by code that shares nothing with what made it."""

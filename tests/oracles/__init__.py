# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious versions of what the package computes; they share no code with it."""

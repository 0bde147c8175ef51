# SPDX-License-Identifier: Apache-2.0
"""Confident k: which records have too few originals in reach and are suppressed, expected and realised."""

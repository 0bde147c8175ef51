# SPDX-License-Identifier: Apache-2.0
"""Measurements and verdicts as people look at them: figures, their numbers, a page, and a page of the documentation."""

# SPDX-License-Identifier: Apache-2.0
"""Layouts of the originals of all classes (sorted, in rings, in boxes) that answer questions about neighbours at once."""

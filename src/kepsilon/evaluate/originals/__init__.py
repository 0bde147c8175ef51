# SPDX-License-Identifier: Apache-2.0
"""The originals of all classes, laid out so that questions about neighbours are answered for all at once."""

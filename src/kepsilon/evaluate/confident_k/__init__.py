# SPDX-License-Identifier: Apache-2.0
"""Which records have too few originals in reach, and go."""

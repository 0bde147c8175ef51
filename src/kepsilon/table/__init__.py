# SPDX-License-Identifier: Apache-2.0
"""What the algorithms see: integer codes, how often combinations occur, and the classes they end in."""

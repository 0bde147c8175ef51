# SPDX-License-Identifier: Apache-2.0
"""Writes files whole or not at all, in private folders that only their owner can read."""

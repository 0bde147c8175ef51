# SPDX-License-Identifier: Apache-2.0
"""Files and folders that only their owner can read, written whole or not at all."""

# SPDX-License-Identifier: Apache-2.0
"""The engine that holds all records in memory."""

# SPDX-License-Identifier: Apache-2.0
"""The engine for Parquet larger than memory: records go to disk, and some classes at a time into memory."""

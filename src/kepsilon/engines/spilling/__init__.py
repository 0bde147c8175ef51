# SPDX-License-Identifier: Apache-2.0
"""The engine that stores records on disk, and holds some classes at a time in memory."""

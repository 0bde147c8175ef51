# SPDX-License-Identifier: Apache-2.0
"""The engine that stores records on a disk shared by a Spark cluster, whose workers hold some classes at a time."""

# SPDX-License-Identifier: Apache-2.0
"""The engine for tables larger than a machine: Spark moves records, its workers run the kernels."""

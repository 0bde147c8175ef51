# SPDX-License-Identifier: Apache-2.0
"""The error that noise causes in ε-quasis, expected and realised."""

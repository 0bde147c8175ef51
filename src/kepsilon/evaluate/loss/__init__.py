# SPDX-License-Identifier: Apache-2.0
"""The loss of precision by generalising k-quasis."""

# SPDX-License-Identifier: Apache-2.0
"""What coarser k-quasis cost."""

# SPDX-License-Identifier: Apache-2.0
"""Pages of docs/reference that are written from the code; `tools/write_reference.py` writes all of them."""

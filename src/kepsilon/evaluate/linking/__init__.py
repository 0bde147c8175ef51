# SPDX-License-Identifier: Apache-2.0
"""How probably a record is linked to the person it is about."""

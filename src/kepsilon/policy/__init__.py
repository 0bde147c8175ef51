# SPDX-License-Identifier: Apache-2.0
"""What is wanted: roles, hierarchies, k, ε and limits. Values only; nothing here sees a record."""

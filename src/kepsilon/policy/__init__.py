# SPDX-License-Identifier: Apache-2.0
"""The policy: what the curator wants, as roles, hierarchies, k, ε and limits. Nothing in this package sees a record."""

# SPDX-License-Identifier: Apache-2.0
"""Proposes a policy for the curator to edit, from the names and the contents of the columns."""

# SPDX-License-Identifier: Apache-2.0
"""A policy for the curator to edit, proposed from what the columns are called and what they look like."""

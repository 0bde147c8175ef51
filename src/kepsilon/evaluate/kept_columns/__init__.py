# SPDX-License-Identifier: Apache-2.0
"""Kept columns that give people away: what an attacker who knows the quasis learns from columns that are not changed."""

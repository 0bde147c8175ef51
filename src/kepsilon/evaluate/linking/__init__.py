# SPDX-License-Identifier: Apache-2.0
"""The risk that an attacker links released records to their originals, expected and realised."""

# SPDX-License-Identifier: Apache-2.0
"""What all engines do with Arrow columns."""

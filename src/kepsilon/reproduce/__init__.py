# SPDX-License-Identifier: Apache-2.0
"""The paper's evaluation, done again: its data sets first."""

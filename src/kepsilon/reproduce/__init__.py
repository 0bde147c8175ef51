# SPDX-License-Identifier: Apache-2.0
"""The paper's evaluation, done again: data sets, experiments, claims, pages."""

# SPDX-License-Identifier: Apache-2.0
"""Predictions: what a release will be, worked out before anything is drawn, for `check`, `explore` and `anonymise`."""

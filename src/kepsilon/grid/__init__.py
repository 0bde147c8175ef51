# SPDX-License-Identifier: Apache-2.0
"""The whole grid of k × ε × algorithm at once, before any noise is drawn, and the choice of a cell by limits."""

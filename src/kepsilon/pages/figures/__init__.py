# SPDX-License-Identifier: Apache-2.0
"""The figures of the pages; each has sentences that say what it shows, a chart, and a table."""

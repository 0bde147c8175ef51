# SPDX-License-Identifier: Apache-2.0
"""What people look at: the report of a release and the page of a grid, as HTML with drawings."""

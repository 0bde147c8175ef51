# SPDX-License-Identifier: Apache-2.0
"""HTML pages with charts: the report of a release and the page of explore's grid."""

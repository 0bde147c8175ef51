# SPDX-License-Identifier: Apache-2.0
"""Records on disk while they are anonymised, for the engines that do not hold them in memory."""

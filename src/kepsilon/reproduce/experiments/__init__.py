# SPDX-License-Identifier: Apache-2.0
"""What is measured of a data set: the paper's experiments, ours beyond them, and those behind what does not hold."""

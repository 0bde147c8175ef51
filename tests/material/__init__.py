# SPDX-License-Identifier: Apache-2.0
"""What tests are made of: made-up tables and results, classes with noise, clusters, and checks that several files share."""

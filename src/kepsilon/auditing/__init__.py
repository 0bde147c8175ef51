# SPDX-License-Identifier: Apache-2.0
"""Checks a release against its original and its policy, without the code that anonymises and publishes."""

# SPDX-License-Identifier: Apache-2.0
"""The version, in one place."""

VERSION = "0.1.0"

# SPDX-License-Identifier: Apache-2.0
"""What a curator asks for: anonymise, check, explore, and what a release larger than memory would take."""

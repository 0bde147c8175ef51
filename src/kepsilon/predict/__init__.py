# SPDX-License-Identifier: Apache-2.0
"""What a release will be, known before anything is drawn; `check`, `explore` and `anonymise` ask here alike."""

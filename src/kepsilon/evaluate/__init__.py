# SPDX-License-Identifier: Apache-2.0
"""What a release costs and what it risks: figures expected before noise is drawn, and realised after."""

# SPDX-License-Identifier: Apache-2.0
"""`python -m kepsilon` is the `kepsilon` command."""

from kepsilon.cli.main import main

main()

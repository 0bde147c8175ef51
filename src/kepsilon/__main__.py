# SPDX-License-Identifier: Apache-2.0
"""`python -m kepsilon`, and the `kepsilon` command: loads the command line, and ends in words where that fails."""

import sys


def main() -> None:
    try:
        from kepsilon.cli.main import main as run_command
    except KeyboardInterrupt:
        _end("interrupted; nothing was released.", code=130)
    except (MemoryError, OSError):
        _end("out of memory while it was loaded; nothing was released.", code=2)
    run_command()


def _end(words: str, *, code: int) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"kepsilon: {words}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""`python -m kepsilon`, and the `kepsilon` command: loads the command line, and ends in words where that fails."""

import os
import sys


def main() -> None:
    try:
        _end_on_ctrl_c()
        from kepsilon.cli.main import main as run_command
    except KeyboardInterrupt:  # before there was a handler
        _end_interrupted()
    except (MemoryError, OSError):
        _say("out of memory while it was loaded; nothing was released.")
        sys.exit(2)
    run_command()


def _end_on_ctrl_c() -> None:
    """Lets Ctrl-C end the program on the spot, until the command line has a handler of its own.

    Nothing has to be tidied up yet, and an import can make another error of a KeyboardInterrupt.
    """
    import signal

    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, _end_interrupted)


def _end_interrupted(*_signal: object) -> None:
    _say("interrupted; nothing was released.")
    os._exit(130)


def _say(words: str) -> None:
    if sys.stderr is not None:
        try:
            sys.stderr.write(f"kepsilon: {words}\n")
            sys.stderr.flush()
        except (OSError, RuntimeError):  # a full disk, or a signal in the middle of other words
            pass


if __name__ == "__main__":
    main()

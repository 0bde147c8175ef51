# SPDX-License-Identifier: Apache-2.0
"""Trouble on workers of a test's cluster, whose Python finds this file: the package itself knows nothing of tests.

A file in the folder FAULTS names what is to go wrong. Whoever renames it first has the trouble, once, when it has written
the first noisy records of its task.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

FAULTS = Path(os.environ["FAULTS"])


def is_mine(name: str) -> bool:
    try:
        (FAULTS / name).rename(FAULTS / f"{name}.taken")
    except OSError:
        return False
    (FAULTS / f"{name}.taken").write_text(str(os.getsid(0)), encoding="utf-8")
    return True


def after_noise(part) -> None:
    if is_mine("wait"):  # to be killed, or stopped from outside
        time.sleep(120)
    if is_mine("slow"):  # to be overtaken by another attempt, and go on
        time.sleep(6)
    if is_mine("crash"):  # as if the system had killed it: nothing of Python gets a chance to tidy up
        os._exit(1)
    if is_mine("raise"):
        raise ValueError(f"CANARY-VALUE {part.values[:3].tolist()}")


def watch_noise() -> None:
    """In every worker process: they are forked, and import the package only when they are."""
    from kepsilon.engines.on_disk.batches import NoisyBuckets

    store_for = NoisyBuckets.store_for

    def store_for_with_trouble(self, stored, random):
        store = store_for(self, stored, random)

        def store_with_trouble(part, published, stays):
            if is_mine("full disk"):
                before = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
                try:
                    store(part, published, stays)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, before)
            store(part, published, stays)
            after_noise(part)

        return store_with_trouble

    NoisyBuckets.store_for = store_for_with_trouble


os.register_at_fork(after_in_child=watch_noise)

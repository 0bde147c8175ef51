# SPDX-License-Identifier: Apache-2.0
"""Recognises Spark DataFrames. The Spark engine reads them on the cluster, every other engine on this machine."""

from __future__ import annotations

from kepsilon.sources.frames import FrameSource


class SparkFrames:
    """Spark DataFrames, of a classic session or of Spark Connect."""

    name = "Spark DataFrame"
    suffixes = ()
    other_suffixes = ()
    open_in_parts = None
    writing = None

    def takes(self, source: object) -> bool:
        kind = type(source)
        return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"

    def open(self, source: object) -> FrameSource:
        return FrameSource(source)


SPARK_FRAMES = SparkFrames()

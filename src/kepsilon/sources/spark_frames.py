# SPDX-License-Identifier: Apache-2.0
"""Spark DataFrames, told from other frames; the Spark engine reads them where they are, every other engine here."""

from __future__ import annotations

from kepsilon.sources.frames import FrameSource


class SparkFrames:
    """DataFrames of Spark, of a cluster or of Spark Connect."""

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

# SPDX-License-Identifier: Apache-2.0
"""Names beside marks: inside the frame, never over one another, the important ones always where there is room."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kepsilon.pages.charts.drawing import text_width
from kepsilon.pages.charts.names_beside import Mark, names_beside

FRAME = {"left": 30.0, "top": 20.0, "right": 360.0, "bottom": 260.0}
marks = st.builds(
    Mark,
    st.floats(30, 360),
    st.floats(20, 260),
    st.sampled_from(["", "k 5, ε 2", "k 20, mean 20", "a long name " * 9]),
    st.booleans(),
)


def boxes(markup):
    found = []
    for one in markup:
        x, y, words = re.match(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', one).groups()
        found.append((float(x), float(y) - 11, float(x) + text_width(words), float(y) + 4))
    return found


@given(st.lists(marks, max_size=12))
def test_no_name_covers_another_or_leaves_the_frame(many):
    found = boxes(names_beside(many, **FRAME))
    for i, (left, top, right, bottom) in enumerate(found):
        assert left >= 29.9
        assert right <= 360.1
        assert top >= 19.9
        assert bottom <= 260.1
        for other in found[i + 1 :]:
            assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom


def test_an_important_name_is_written_among_many_marks_and_another_one_is_not():
    crowd = [Mark(100 + 5 * i, 100 + 5 * j, "") for i in range(-20, 21) for j in range(-12, 13)]
    assert [*names_beside([*crowd, Mark(100, 100, "chosen", True)], **FRAME)]
    assert not [*names_beside([*crowd, Mark(100, 100, "k 5, ε 2")], **FRAME)]


@given(st.lists(st.tuples(st.integers(30, 360), st.integers(20, 260)), max_size=12, unique=True))
def test_a_name_is_nearer_to_its_mark_than_to_any_other(places):
    """Of two marks side by side each would otherwise be taken for the other one."""
    many = [Mark(x, y, f"k {i}") for i, (x, y) in enumerate(places)]
    for one in names_beside(many, **FRAME):
        (left, top, right, bottom) = boxes([one])[0]
        own = int(re.search(r"k (\d+)", one)[1])
        far = [max(left - x, x - right, 0.0) ** 2 + max(top - y, y - bottom, 0.0) ** 2 for x, y in places]
        assert all(far[own] < other + 0.1 for i, other in enumerate(far) if i != own)

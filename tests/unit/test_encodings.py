# SPDX-License-Identifier: Apache-2.0
"""The encoding of a file is decided from all of its bytes, and lines are counted as an editor does."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kepsilon import encodings
from kepsilon.errors import DataError

PIECES = st.sampled_from(
    [
        b"a",
        b"\n",
        b"\r\n",
        b"\r",
        b"\xc3\xbc",
        b"\xfc",
        b"\xe2\x82\xac",
        b"\x80",
        b"\x81",
        b"\xc3",
        b"\xf0\x9f\x99\x82",
        b"\0",
    ]
)
BYTES = st.lists(PIECES, max_size=12).map(b"".join)


def first_bad_byte(text: bytes) -> int | None:
    """The first byte that is not UTF-8, by trying every beginning."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        for end in range(len(text) + 1):
            beginning = text[:end]
            if not any(
                _is_utf_8(beginning + rest) for rest in (b"", b"\x80", b"\x80\x80", b"\x90\x80\x80", b"\xa0\x80")
            ):
                while beginning and not _is_utf_8(beginning):
                    beginning = beginning[:-1]
                return len(beginning)
        while not _is_utf_8(text):
            text = text[:-1]
        return len(text)
    return None


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def lines_before(text: bytes) -> int:
    return len(re.findall(rb"\r\n|\r|\n", text))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=BYTES, block=st.integers(1, 6))
def test_the_decision_does_not_depend_on_how_the_file_is_read(tmp_path, monkeypatch, text, block):
    """Blocks of any size cut letters and line breaks in two; the answer is that for the file as a whole."""
    monkeypatch.setattr(encodings, "BLOCK_BYTES", block)
    path = tmp_path / "file"
    path.write_bytes(text)
    bad = first_bad_byte(text)
    wide = re.search("[^\0-\x7f]", text.decode("utf-8", "ignore"))
    try:
        decided, said = encodings.encoding_of(path), ""
    except DataError as error:
        decided, said = "refused", str(error)
    if b"\0" in text:
        assert f"line {1 + lines_before(text[: text.index(0)])} holds a NUL" in said
    elif bad is None:
        assert decided == "utf-8"
    elif wide is not None:
        assert f"line {1 + lines_before(text[:bad])} is not UTF-8, although line" in said
    elif b"\x81" in text:
        assert f"line {1 + lines_before(text[: text.index(0x81)])} holds a byte" in said
    else:
        assert decided == "cp1252"
        assert text.decode("cp1252").encode("cp1252") == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=BYTES, block=st.integers(1, 6), data=st.data())
def test_a_line_is_found_however_the_file_is_read(tmp_path, monkeypatch, text, block, data):
    """Every byte that is not part of a line break is on the line that an editor shows it on."""
    monkeypatch.setattr(encodings, "BLOCK_BYTES", block)
    path = tmp_path / "file"
    path.write_bytes(text + b"x")
    offset = data.draw(st.sampled_from([i for i, own in enumerate(text + b"x") if own not in b"\r\n"]))
    assert encodings.line_of(path, offset) == 1 + lines_before(text[:offset])

# SPDX-License-Identifier: Apache-2.0
"""Writes docs/explanation/reproduced.md from the claims.json of a full run, and keeps that file beside it.

`python tools/write_reproduced.py FOLDER`, where FOLDER is what `kepsilon reproduce` wrote; `make reproduce` does both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kepsilon.reproduce.pages.docs_page import docs_page

DOCS = Path(__file__).resolve().parent.parent / "docs" / "explanation"


def main(folder: Path) -> int:
    text = (folder / "claims.json").read_text(encoding="utf-8")
    claims = json.loads(text)
    if claims["setting"]["is_quick"]:
        print("a quick run has too few cells to judge the claims by; run `kepsilon reproduce` without --quick")
        return 1
    (DOCS / "reproduced.json").write_text(text, encoding="utf-8")
    (DOCS / "reproduced.md").write_text(docs_page(claims), encoding="utf-8")
    print("docs/explanation/reproduced.md and docs/explanation/reproduced.json are written")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

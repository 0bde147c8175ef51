# SPDX-License-Identifier: Apache-2.0
"""What a column may hold, going by its name."""

from __future__ import annotations

from enum import Enum


class Meaning(Enum):
    """One thing that a name may say; a name may say several."""

    PERSON_ID = "a person's number"
    HOUSEHOLD_ID = "a household's number"
    SAMPLING_WEIGHT = "a sampling weight"
    NAME = "a name"
    SOME_NAME = "a name of a person or of something else"
    CONTACT = "a way to reach a person"
    FREE_TEXT = "free text"
    RECORD_ID = "an id of something"
    POSTCODE = "a postcode"
    YEAR = "a year"
    AGE = "an age"
    SEX = "a sex"
    PAPERWORK = "when something was asked, written or changed"
    DEMOGRAPHIC = "something others know about a person"
    CLINICAL = "something clinical"
    FINANCIAL = "something financial"
    QUANTITY = "how much or how many"
    ORDERED = "a count or a rank"
    NOMINAL = "one of several kinds"

# SPDX-License-Identifier: Apache-2.0
"""What values look like as text, each look with its pattern."""

from __future__ import annotations

from enum import Enum


class Shape(Enum):
    """What a value looks like as text; a value may have several shapes."""

    EMAIL = "e-mail addresses"
    PHONE = "phone numbers"
    SSN = "social security numbers"
    UUID = "UUIDs"
    DIGITS = "digits only"
    CODE = "letters and digits without blanks"
    YEAR = "years"
    DATE_ISO = "dates, year first"
    DATE_COMPACT = "dates without separators"
    DATE_DOTS = "dates with dots, day first"
    DATE_DAY_FIRST = "dates with slashes, day first"
    DATE_MONTH_FIRST = "dates with slashes, month first"
    MINUTES = "a time of day at the end, in minutes"
    SECONDS = "a time of day at the end, in seconds"
    COMMA = "numbers with a comma"


DAY, MONTH, CENTURY = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "(18|19|20)[0-9]{2}"
TIME = r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
MINUTES, SECONDS = " [0-9]{1,2}:[0-9]{2}", " [0-9]{1,2}:[0-9]{2}:[0-9]{2}"
PATTERNS = {
    Shape.EMAIL: r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    # Digits alone could be anything; a plus, a bracket, or a separator between groups makes them a phone number.
    Shape.PHONE: (
        r"^(\+[0-9][0-9 ()./-]{6,18}|\([0-9]{2,5}\)[0-9 ./-]{5,14}"
        r"|[0-9]{3}[ .-][0-9]{3}[ .-][0-9]{4}|0[0-9]{2,4}[ /-][0-9 -]{5,10})$"
    ),
    Shape.SSN: r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    Shape.UUID: r"^\{?[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$",
    Shape.DIGITS: r"^[0-9]+$",
    Shape.CODE: r"^[A-Za-z_/-]*([0-9][A-Za-z_/-]*){3,}$",
    Shape.YEAR: r"^(18[5-9][0-9]|19[0-9]{2}|20[0-9]{2}|2100)(\.0+)?$",
    Shape.DATE_ISO: rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{TIME}$",
    Shape.DATE_COMPACT: rf"^{CENTURY}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$",
    Shape.DATE_DOTS: rf"^{DAY}\.{MONTH}\.{CENTURY}({MINUTES}|{SECONDS})?$",
    Shape.DATE_DAY_FIRST: rf"^{DAY}/{MONTH}/{CENTURY}({MINUTES}|{SECONDS})?$",
    Shape.DATE_MONTH_FIRST: rf"^{MONTH}/{DAY}/{CENTURY}({MINUTES}|{SECONDS})?$",
    Shape.MINUTES: f"[0-9]{MINUTES}$",
    Shape.SECONDS: f"[0-9]{SECONDS}$",
    Shape.COMMA: r"^-?[0-9]+,[0-9]+$",
}
MONTHS = {
    Shape.DATE_ISO: "^([0-9]{4}-[0-9]{2}).*",
    Shape.DATE_COMPACT: "^([0-9]{6}).*",
    Shape.DATE_DOTS: r"^[0-9]+\.([0-9]+\.[0-9]{4}).*",
    Shape.DATE_DAY_FIRST: "^[0-9]+/([0-9]+/[0-9]{4}).*",
    Shape.DATE_MONTH_FIRST: "^([0-9]+/)[0-9]+(/[0-9]{4}).*",
}
"""Dates by shape, with the month and the year in brackets."""
HINTS = (Shape.EMAIL, Shape.PHONE, Shape.SSN, Shape.UUID)
DATES = (Shape.DATE_ISO, Shape.DATE_DOTS, Shape.DATE_DAY_FIRST, Shape.DATE_MONTH_FIRST, Shape.DATE_COMPACT)

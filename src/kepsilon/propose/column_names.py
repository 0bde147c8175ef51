# SPDX-License-Identifier: Apache-2.0
"""What the name of a column says about its contents; it is a hint, which the contents may overrule."""

from __future__ import annotations

import re
from enum import Enum


class Meaning(Enum):
    """What a column may hold, going by its name."""

    PERSON_ID = "a person's number"
    HOUSEHOLD_ID = "a household's number"
    SAMPLING_WEIGHT = "a sampling weight"
    NAME = "a name"
    CONTACT = "a way to reach a person"
    FREE_TEXT = "free text"
    RECORD_ID = "an id of something"
    POSTCODE = "a postcode"
    YEAR = "a year"
    AGE = "an age"
    DEMOGRAPHIC = "something others know about a person"
    CLINICAL = "something clinical"
    FINANCIAL = "something financial"
    QUANTITY = "how much or how many"
    ORDERED = "a count or a rank"
    NOMINAL = "one of several kinds"


WHOLE_NAMES = {
    Meaning.PERSON_ID: (
        "ssn|social security( number| no)?|nino|national insurance( number| no)?|mrn|medical record( number| no)?"
        "|nhs( number| no)?|passport( number| no)?|tax ?id|driving licence|drivers? licen[cs]e|licen[cs]e plate|iban"
        "|uuid|guid|user ?name|login|patient|person|participant|respondent"
        "|(patient|persons?|personal|customer|client|member|subject|participant|respondent|user|employee|student|pupil"
        "|voter|citizen|insurance|insured|account|card|payer) ?(id|no|nr|nbr|num|number|key|code|identifier)"
    ),
    Meaning.HOUSEHOLD_ID: "hh|hhid|((hh|house ?hold|family|dwelling|home) ?(id|no|nr|nbr|num|number|key|serial|identifier))",
    Meaning.SAMPLING_WEIGHT: (
        "(fnl|p|pw|fin|final|person|per|hh|house ?hold|survey|sampling|sample|design|interview|int|mec|exam|asec|base|rep"
        "|replicate|population|calibrated|expansion|grossing|analysis|post ?strat(ification)?)[ ]?(w|wt|wts|wgt|wgts|wgtp"
        "|weight|weights|factor)( ?[0-9]+)?( ?(yr|year)s?)?|wt(mec|int|saf|dr)[a-z0-9]*|wgtp?[0-9]*|wt[0-9]*|wts|pweight"
        "|weighting"
    ),
    Meaning.NAME: (
        "(sur|last|first|full|fore|middle|given|family|maiden|birth|patient|person|customer|client|doctor|physician)? ?names?"
        "|initials|vorname|nachname|nom|prenom|apellidos?|nombre"
    ),
    Meaning.CONTACT: (
        "(.* )?e ?mail( address)?|(.* )?(phone|telephone|mobile|cell|fax)( ?(no|nr|num|number))?|tel|telefon"
        "|(.* )?(address|street|strasse|adresse|direccion)( line)?( [0-9])?|ip|url|website"
    ),
    Meaning.FREE_TEXT: "(.* )?(notes?|comments?|remarks?|free ?text|narrative|anamnesis)",
    Meaning.RECORD_ID: "(.* )?(id|ids|identifier|key|index|rowid|serial|no|nr|nbr|number)|row|record|unnamed 0",
    Meaning.POSTCODE: "(.* )?(zip|zip ?code|post(al)? ?code|postal|plz|postleitzahl|zcta|code postal|eircode)",
    Meaning.YEAR: "(.* )?(year|yr|yob|jahr|annee)( .*)?",
    Meaning.AGE: "(.* )?(age|alter)( (in )?(years|yrs))?",
}
WORDS = {
    Meaning.CLINICAL: (
        "diagnos[ie]s|diagnose|disease|disorder|condition|icd ?(10)?|illness|symptoms?|treatments?|therapy|medications?"
        "|drugs?|dose|dosage|pressure|systolic|diastolic|bp|glucose|sugar|cholesterol|hdl|ldl|hba1c|insulin|bmi|pulse"
        "|heart|temperature|lab|results?|tests?|outcome|procedure|surgery|operation|allerg(y|ies)|smok(er|ing)|alcohol"
        "|hiv|cancer|tumou?r|pregnan(t|cy)|score|grade|risk|mental|blood|ha?emoglobin|creatinine|platelets|mortality"
        "|survival|died|deceased"
    ),
    Meaning.FINANCIAL: (
        "income|salary|wages?|pay|earnings?|capital|gains?|loss(es)?|debt|credit|loans?|balance|price|costs?|amount"
        "|revenue|tax|rent|charges?|premium|mortgage|spend(ing)?|savings?|benefits?|wealth|assets?"
    ),
    Meaning.DEMOGRAPHIC: (
        "sex|gender|geschlecht|sexe|race|ethnic(ity)?|marital|married|civil status|occupation|profession|job|employment"
        "|employer|work ?class|industry|education|school(ing)?|degree|qualification|country|nation(ality)?|citizenship"
        "|native|birthplace|region|state|province|county|district|city|town|municipality|borough|ward|village|language"
        "|religion|faith|relationship|household|family|children|kids|depend[ea]nts?|siblings|veteran|party|hair|eyes?"
    ),
    Meaning.QUANTITY: (
        "height|weight|wgt|length|width|waist|hip|size|distance|speed|hours?|minutes?|seconds?|days?|weeks?|months?|rate"
        "|level|value|counts?|total|cm|mm|kg|lbs?|percent|pct|share|population|pop"
    ),
    Meaning.ORDERED: (
        "num|number|n|score|grade|rank|stage|order|rooms|persons|members|children|kids|siblings|depend[ea]nts?|visits"
        "|times|age|year|quantity|qty|units|size|level|education|school(ing)?|degree|income|salary|wage"
    ),
    Meaning.NOMINAL: (
        "codes?|type|kind|category|class|status|sex|gender|race|ethnic(ity)?|marital|occupation|profession|industry|job"
        "|country|nation(ality)?|citizenship|birthplace|region|state|province|county|district|language|religion"
        "|relationship|party|tenure|urban|rural|channel|id|ids|identifier|work ?class"
    ),
}
"""Patterns of words that may stand anywhere in a name, by meaning."""


def meanings_of(name: str) -> frozenset[Meaning]:
    """Every meaning whose pattern matches the name: often several, and none if no pattern does."""
    spaced = " ".join(words_of(name))
    whole = {meaning for meaning, pattern in WHOLE_NAMES.items() if re.fullmatch(pattern, spaced)}
    parts = {meaning for meaning, pattern in WORDS.items() if re.search(rf"\b({pattern})\b", spaced)}
    return frozenset(whole | parts)


def words_of(name: str) -> list[str]:
    """Words of a name in lower case, split at punctuation and at changes of case.

    `patientID`, `patient_id` and `Patient-Id` all give "patient" and "id"; digits stay with the word before them.
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[^\W_]+", spaced.casefold())

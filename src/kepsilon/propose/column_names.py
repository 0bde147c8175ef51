# SPDX-License-Identifier: Apache-2.0
"""What the name of a column says about its contents; it is a hint, which the contents may overrule."""

from __future__ import annotations

import re

from kepsilon.propose.meanings import Meaning
from kepsilon.propose.survey_names import SURVEY_NAMES

WHOLE_NAMES = {
    Meaning.PERSON_ID: (
        "ssn|social security( number| no)?|nino|national insurance( number| no)?|mrn|medical record( number| no)?"
        "|nhs( number| no)?|passport( number| no)?|tax ?id|driving licence|drivers? licen[cs]e|licen[cs]e plate|iban"
        "|uuid|guid|user ?name|login|patient|person|participant|respondent"
        "|(.* )?(patient|pat|pt|persons?|personal|people|customer|cust|client|member|memb|subject|subj|participant|respondent|resp"
        "|user|employee|emp|staff|student|pupil|voter|citizen|donor|beneficiary|bene|applicant|borrower|tenant|resident|kunden?"
        "|patienten|personen) ?(id|no|nr|nbr|num|number|nummer|key|code|identifier)"
        "|(insurance|insured|account|acct|card|payer) ?(id|no|nr|nbr|num|number|key|code|identifier)"
    ),
    Meaning.HOUSEHOLD_ID: (
        "hh|hhid|((hh|house ?hold|haushalts?|family|dwelling|home) ?(id|no|nr|nbr|num|number|nummer|key|serial|identifier))"
    ),
    Meaning.SAMPLING_WEIGHT: (
        "(fnl|p|pw|fin|final|person|per|hh|house ?hold|survey|sampling|sample|design|interview|int|mec|exam|asec|base|rep"
        "|replicate|population|calibrated|expansion|grossing|analysis|post ?strat(ification)?)[ ]?(w|wt|wts|wgt|wgts|wgtp"
        "|weight|weights|factor)( ?[0-9]+)?( ?(yr|year)s?)?|wt(mec|int|saf|dr)[a-z0-9]*|wgtp?[0-9]*|wt[0-9]*|wts|pweight"
        "|weighting|hochrechnungsfaktor|gewichtung(sfaktor)?|hrf|ponderation|factor (de )?(expansion|elevacion)"
    ),
    Meaning.NAME: (
        "(sur|last|first|full|fore|middle|given|family|maiden|birth|patient|person|customer|client|doctor|physician)? ?names?"
        "|initials|vorname|nachname|nom|prenom|apellidos?|nombre"
    ),
    Meaning.SOME_NAME: ".*name[ns]?",
    Meaning.CONTACT: (
        "(.* )?e ?mail( address)?|(.* )?(phone|telephone|mobile|cell|fax)( ?(no|nr|num|number))?|tel|telefon"
        "|(.* )?(address|street|strasse|adresse|direccion)( line)?( [0-9])?|ip|url|website"
    ),
    Meaning.FREE_TEXT: "(.* )?(notes?|comments?|remarks?|free ?text|narrative|anamnesis)",
    Meaning.RECORD_ID: "(.* )?(id|ids|identifier|key|index|rowid|serial|no|nr|nbr|number)|row|record|unnamed 0",
    Meaning.POSTCODE: "(.* )?(zip( ?code)?[0-9]*|post(al)? ?code|postal|plz|postleitzahl|zcta|code postal|eircode)",
    Meaning.YEAR: "(.* )?([a-z]*year|yr|yob|[a-z]*jahr|annee)( .*)?",
    Meaning.AGE: "(.* )?(age|alter|edad)(( in)? ?(years|yrs)| (at|on|when) .*)?",
    Meaning.PAPERWORK: (
        "(.* )?(interview|survey|questionnaire|entry|record|recorded|created|updated|modified|changed|collected|collection"
        "|processed|reported|extracted|file|version)( .*)?"
    ),
}
WORDS = {
    Meaning.CLINICAL: (
        "diagnos[ie]s|diagnose|disease|disorder|condition|icd ?(10)?|illness|symptoms?|treatments?|therapy|medications?"
        "|drugs?|dose|dosage|pressure|systolic|diastolic|bp|glucose|sugar|cholesterol|hdl|ldl|hba1c|insulin|bmi|pulse"
        "|heart|temperature|lab|results?|tests?|outcome|procedures?|surger(y|ies)|operations?|readmi(t|tted|ssion)s?|allerg(y|ies)|smok(er|ing)|alcohol"
        "|hiv|cancer|tumou?r|pregnan(t|cy)|score|grade|risk|mental|blood|ha?emoglobin|creatinine|platelets|mortality"
        "|survival|died|deceased"
    ),
    Meaning.FINANCIAL: (
        "income|salary|wages?|pay|earnings?|capital|gains?|loss(es)?|debt|credit|loans?|balance|price|costs?|amount"
        "|revenue|tax|rent|charges?|premium|mortgage|spend(ing)?|savings?|benefits?|wealth|assets?"
        "|einkommen|gehalt|lohn|miete|netto|brutto|umsatz|preis"
    ),
    Meaning.DEMOGRAPHIC: (
        "sex|gender|geschlecht|sexe|race|ethnic(ity)?|marital|married|civil status|occupation|profession|job|employment"
        "|employer|work ?class|industry|education|school(ing)?|degree|qualification|country|nation(ality)?|citizenship"
        "|native|birthplace|region|state|province|county|district|city|town|municipality|borough|ward|village|language"
        "|religion|faith|relationship|household|family|children|kids|depend[ea]nts?|siblings|veteran|party|hair|eyes?"
        "|familienstand|beruf|staatsangeh(oe|ö)rigkeit|haushaltsgr(oe|ö)(ss|ß)e|kinder(zahl)?|bundesland|gemeinde|landkreis"
        "|kreis|wohnort|schulabschluss|berufsabschluss|bildung|erwerbsstatus|wirtschaftszweig|branche"
    ),
    Meaning.SEX: "sex|gender|geschlecht|sexe|sexo",
    Meaning.QUANTITY: (
        "height|weight|wgt|length|width|waist|hip|size|distance|speed|hours?|minutes?|seconds?|days?|weeks?|months?|rate"
        "|level|value|counts?|total|cm|mm|kg|lbs?|percent|pct|share|population|pop"
    ),
    Meaning.ORDERED: (
        "num|number|n|score|grade|rank|stage|order|rooms|persons|members|children|kids|siblings|depend[ea]nts?|visits"
        "|times|age|year|quantity|qty|units|size|level|education|school(ing)?|degree|income|salary|wage"
        "|haushaltsgr(oe|ö)(ss|ß)e|kinder(zahl)?|schulabschluss|bildung"
    ),
    Meaning.NOMINAL: (
        "codes?|type|kind|category|class|status|sex|gender|race|ethnic(ity)?|marital|occupation|profession|industry|job"
        "|country|nation(ality)?|citizenship|birthplace|region|state|province|county|district|language|religion"
        "|relationship|party|tenure|urban|rural|channel|id|ids|identifier|work ?class|disposition|source|ward|department"
        "|familienstand|beruf|staatsangeh(oe|ö)rigkeit|bundesland|gemeinde|landkreis|kreis|erwerbsstatus|wirtschaftszweig"
    ),
}
"""Patterns of words that may stand anywhere in a name, by meaning."""
WELL_KNOWN = frozenset({Meaning.SEX, Meaning.AGE, Meaning.YEAR, Meaning.POSTCODE})
LEAST_LETTERS = 5
"""Shorter names of surveys are looked for in capitals only: `mar` may be a month."""


def meanings_of(name: str) -> frozenset[Meaning]:
    """Every meaning whose pattern matches the name: often several, and none if no pattern does.

    Numbers at the end of a word, as in `died30`, may be missing from a pattern.
    """
    spaced = " ".join(words_of(name))
    unnumbered = re.sub(r"(?<=[^\W\d])\d+\b", "", spaced)
    whole = {meaning for meaning, pattern in WHOLE_NAMES.items() if re.fullmatch(pattern, spaced)}
    if name.isupper() or len(name) >= LEAST_LETTERS:
        whole |= {meaning for meaning, pattern in SURVEY_NAMES.items() if re.fullmatch(pattern, name.casefold())}
    parts = {meaning for meaning, pattern in WORDS.items() if re.search(rf"\b({pattern})\b", f"{spaced} {unnumbered}")}
    return frozenset(whole | parts)


def is_well_known(name: str) -> bool:
    """Whether nearly everybody who knows a person knows it, and every analyst asks for it: age, sex, where they live."""
    return bool(WELL_KNOWN & meanings_of(name))


def words_of(name: str) -> list[str]:
    """Words of a name in lower case, split at punctuation and at changes of case.

    `patientID`, `patient_id` and `Patient-Id` all give "patient" and "id"; digits stay with the word before them. Capitals
    alone are one word, as in `WTINT2YR`.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[^\W_]+", spaced.casefold())

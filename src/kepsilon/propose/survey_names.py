# SPDX-License-Identifier: Apache-2.0
"""What columns are called in files that many people work with, where no word of the name says what it holds.

Names of the National Health and Nutrition Examination Survey (NHANES), and of public use microdata of the census (PUMS,
IPUMS); whole names, in lower case.
"""

from __future__ import annotations

from kepsilon.propose.meanings import Meaning

SURVEY_NAMES = {
    Meaning.HOUSEHOLD_ID: "serialno|hhidn?",
    Meaning.AGE: "ridageyr|ridagemn|agep",
    Meaning.SEX: "riagendr",
    Meaning.DEMOGRAPHIC: (
        "riagendr|ridreth[0-9]|dmdborn[0-9]?|dmdeduc[0-9]?|dmdmart[lz]|dmdh[hr]siz|dmdfmsiz|dmdcitzn|dmqmiliz"
        "|schl|mar|rac1p|rac[0-9]p|hisp|cit|relshipp?|relp|occp?|indp?|naicsp|cow|np|esr|pob|nativity|puma|hht|fer"
    ),
    Meaning.NOMINAL: (
        "riagendr|ridreth[0-9]|dmdborn[0-9]?|dmdmart[lz]|dmdcitzn|mar|rac1p|rac[0-9]p|hisp|cit|relshipp?|relp|occp?"
        "|indp?|naicsp|cow|esr|pob|nativity|hht"
    ),
    Meaning.ORDERED: "dmdeduc[0-9]?|dmdh[hr]siz|dmdfmsiz|schl|np|ind[hf][hm]in[0-9]?|sporder",
    Meaning.FINANCIAL: "ind[hf][hm]in[0-9]?|indfmpir|wagp|pincp|hincp|fincp|pernp|intp|retp|ssp|semp|valp|grntp|rntp",
    Meaning.CLINICAL: "bmxbmi|bp[xq][a-z0-9]*|lbx[a-z0-9]*|urx[a-z0-9]*|alq[0-9]+[a-z]*|smq[0-9]+[a-z]*|diq[0-9]+[a-z]*",
    Meaning.QUANTITY: "bmx(wt|ht|waist|leg|arml|armc|hip)|jwmnp|wkhp",
}
"""Patterns of whole names, by meaning."""

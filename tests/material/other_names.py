# SPDX-License-Identifier: Apache-2.0
"""The five kinds of tables once more, as other people name and encode them. Nobody in them exists.

Camel case and abbreviations, the names of two well-known surveys, German; dates with times, codes with gaps, signs and words
for what is missing, numbers of invoices beside those of customers. A proposal that copes with the tables of `five_tables.py`
alone was fitted to them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping

import numpy as np

from material.five_tables import SENTENCES, MadeTable, as_text, with_codes

START = dt.datetime(2022, 1, 1)


def stays(n: int = 3_000, seed: int = 11) -> MadeTable:
    """Encounters in camel case: admission and discharge with a time, `?` for what is not known, an outcome."""
    rng = np.random.default_rng(seed)
    n_patients = n // 2
    patient = (np.minimum(rng.zipf(1.8, n) - 1, n_patients - 1) * 7919 + rng.integers(0, n_patients, n)) % n_patients
    born = rng.integers(0, 28_000, n_patients)[patient]
    admitted = rng.integers(0, 365 * 1440, n)
    nights = np.minimum(np.ceil(rng.lognormal(1.1, 0.9, n)), 120).astype(int)
    height = rng.normal(66, 4, n_patients)[patient].round().astype(int)
    weight = (np.exp(rng.normal(5.1, 0.2, n_patients))[patient] + rng.normal(0, 2, n)).round().astype(int)
    codes = [f"{letter}{a:02}.{b}" for letter, a, b in zip("CEFIJKMS" * 7, range(3, 59), range(56), strict=True)]
    return MadeTable(
        table=as_text(
            VisitID=[f"V{700_000 + i}" for i in range(n)],
            MRN=[f"{10**7 + 911 * int(p):08}" for p in patient],
            PtName=[f"Surname{p % 701}, Canary{p % 83}" for p in patient],
            DOB=[(START - dt.timedelta(days=int(d))).strftime("%d/%m/%Y") for d in born],
            AgeAtAdmission=(born / 365.25).astype(int),
            Sex=rng.choice(["male", "female"], n_patients)[patient],
            Ethnicity=rng.choice(["White", "Black", "Asian", "Mixed", "?"], n_patients, p=[0.7, 0.1, 0.1, 0.05, 0.05])[
                patient
            ],
            Zip5=np.array([f"{60_600 + z % 90}" for z in rng.zipf(1.3, n_patients)])[patient],
            AdmitDateTime=[(START + dt.timedelta(minutes=int(m))).strftime("%m/%d/%Y %H:%M") for m in admitted],
            DischargeDateTime=[
                f"{START + dt.timedelta(minutes=int(m), days=int(d)):%Y-%m-%d %H:%M}"
                for m, d in zip(admitted, nights, strict=True)
            ],
            LOS=nights,
            Ward=rng.choice(["A1", "A2", "B1", "C3", "ICU"], n),
            DischargeDisposition=rng.choice([1, 2, 3, 6, 11, 18, 25], n, p=[0.6, 0.1, 0.1, 0.1, 0.04, 0.04, 0.02]),
            HeightIn=height,
            WeightLbs=weight,
            BMI=np.round(703 * weight / height**2, 1),
            Glucose=np.where(rng.random(n) < 0.1, "?", rng.normal(110, 30, n).round().astype(int).astype(str)),
            ICD10=np.array(codes)[rng.zipf(1.5, n) % len(codes)],
            Died30=rng.choice(["Y", "N"], n, p=[0.03, 0.97]),
            ClinicianComment=[
                f"{SENTENCES[i % 5]}; {SENTENCES[(3 * i + 2) % 5]} (Dr Canary{i % 31})" for i in range(n)
            ],
        ),
        dropped={
            "VisitID": "of its own|numbers something",
            "MRN": "tells persons apart",
            "PtName": "names",
            "ClinicianComment": "Free text|unique",
        },
        nominal=frozenset({"DischargeDisposition"}),
        missing={"Ethnicity": ('"?"',), "Glucose": ('"?"',)},
        leaks={"DOB|AgeAtAdmission": "DOB|AgeAtAdmission", "BMI": "BMI"},
        never={"MRN": frozenset({"epsilon-quasi", "k-quasi"}), "PtName": frozenset({"k-quasi", "sensitive"})},
        person="MRN",
    )


def examined(n: int = 3_000, seed: int = 12) -> MadeTable:
    """A health survey with names of NHANES, which say nothing to whoever does not know them."""
    rng = np.random.default_rng(seed)
    sex = rng.choice([1, 2], n)
    height = np.round(rng.normal(163, 8, n) + 12 * (sex == 1), 1)
    weight = np.round(np.exp(rng.normal(4.3, 0.22, n)), 1)
    return MadeTable(
        table=as_text(
            SEQN=93_703 + np.arange(n),
            SDDSRVYR=np.full(n, 10),
            RIAGENDR=sex,
            RIDAGEYR=np.minimum(rng.integers(0, 95, n), 80),
            RIDRETH3=rng.choice([1, 2, 3, 4, 6, 7], n),
            DMQMILIZ=with_codes(rng, rng.choice([1, 2], n, p=[0.1, 0.9]), {7: 0.004, 9: 0.004}),
            DMDEDUC2=with_codes(rng, rng.choice([1, 2, 3, 4, 5], n), {7: 0.005, 9: 0.006}),
            DMDMARTL=with_codes(rng, rng.choice([1, 2, 3, 4, 5, 6], n), {77: 0.004, 99: 0.004}),
            DMDHHSIZ=rng.choice([1, 2, 3, 4, 5, 6, 7], n),
            INDHHIN2=with_codes(rng, rng.choice([*range(1, 11), 12, 13, 14, 15], n), {77: 0.02, 99: 0.03}),
            WTINT2YR=np.round(rng.lognormal(10, 0.8, n), 6),
            WTMEC2YR=np.round(rng.lognormal(10, 0.8, n), 6),
            SDMVPSU=rng.choice([1, 2], n),
            SDMVSTRA=rng.integers(134, 149, n),
            BMXWT=weight,
            BMXHT=height,
            BMXHTIN=np.round(height / 2.54, 1),
            ALQ130=with_codes(rng, np.minimum(rng.geometric(0.4, n), 15), {777: 0.004, 999: 0.006}),
            LBXTC=rng.normal(180, 40, n).round().astype(int),
        ),
        dropped={
            "SEQN": "of its own|numbers",
            "WTINT2YR": "[Ss]ampling weight",
            "WTMEC2YR": "[Ss]ampling weight",
        },
        nominal=frozenset({"RIAGENDR", "RIDRETH3", "DMDMARTL"}),
        missing={"DMDEDUC2": ("7", "9"), "DMDMARTL": ("77", "99"), "INDHHIN2": ("77", "99"), "ALQ130": ("777", "999")},
        leaks={"BMXHT|BMXHTIN": "BMXHT|BMXHTIN"},
        never={"WTINT2YR": frozenset({"epsilon-quasi", "k-quasi"})},
    )


def census_persons(n: int = 3_000, seed: int = 13) -> MadeTable:
    """Persons within households with names of the census' public use files; `bb` where a question was not asked."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 4, 5, 6], n, p=[0.28, 0.34, 0.16, 0.13, 0.06, 0.03])
    home = np.repeat(np.arange(n), sizes)[:n]
    member = np.arange(n) - np.searchsorted(home, home)
    n_homes = int(home.max()) + 1
    age = np.where(member == 0, rng.integers(18, 92, n), rng.integers(0, 92, n))
    weight = rng.integers(5, 300, n)
    wage = rng.lognormal(10.4, 0.8, n).round(-2).astype(int).astype(str)
    return MadeTable(
        table=as_text(
            RT=["P"] * n,
            SERIALNO=[f"2021HU{1_000_000 + 37 * h:07}" for h in home],
            SPORDER=member + 1,
            PUMA=rng.choice([f"{p:05}" for p in range(101, 131)], n_homes)[home],
            PWGTP=weight,
            AGEP=age,
            CIT=rng.choice([1, 2, 3, 4, 5], n, p=[0.85, 0.01, 0.01, 0.07, 0.06]),
            MAR=rng.choice([1, 2, 3, 4, 5], n),
            RELSHIPP=np.where(member == 0, 20, rng.choice([21, 22, 25, 30, 34], n)),
            SCHL=np.where(age < 3, "bb", rng.integers(1, 25, n).astype(str)),
            SEX=rng.choice([1, 2], n),
            WAGP=np.where(age < 16, "bbbbbb", np.where(rng.random(n) < 0.4, "0", wage)),
            RAC1P=rng.choice([1, 2, 3, 6, 8, 9], n, p=[0.7, 0.14, 0.01, 0.06, 0.05, 0.04]),
            HINCP=rng.lognormal(11, 0.7, n_homes).round(-2).astype(int)[home],
            NP=np.bincount(home, minlength=n_homes)[home],
            PWGTP1=np.maximum(1, weight + rng.integers(-5, 60, n)),
        ),
        dropped={
            "SERIALNO": "household",
            "PWGTP": "[Ss]ampling weight",
            "PWGTP1": "[Ss]ampling weight",
        },
        nominal=frozenset({"CIT", "MAR", "RELSHIPP", "SEX", "RAC1P"}),
        never={"PWGTP": frozenset({"epsilon-quasi", "k-quasi"}), "SERIALNO": frozenset({"k-quasi"})},
        person="SERIALNO",
    )


def employed_in_german(n: int = 3_000, seed: int = 15) -> MadeTable:
    """A wide labour survey in German: −8 where a question was not asked, −9 where it was not answered."""
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 90, n)
    works = (rng.random(n) < 0.6) & (age < 70)
    questions = "befristet schicht nachtarbeit homeoffice gewerkschaft zweitjob weiterbildung raucher pflege internet"
    return MadeTable(
        table=as_text(
            lfd_nr=1 + np.arange(n),
            quartal=rng.choice(["2023Q1", "2023Q2"], n),
            bundesland=rng.choice([f"{i:02}" for i in range(1, 17)], n),
            geschlecht=rng.choice([1, 2], n),
            geburtsjahr=2023 - age,
            alter=age,
            familienstand=rng.choice([1, 2, 3, 4], n),
            staatsangehoerigkeit=rng.choice([1, 2, 3], n, p=[0.87, 0.08, 0.05]),
            haushaltsgroesse=rng.choice([1, 2, 3, 4, 5], n),
            schulabschluss=with_codes(rng, rng.choice([1, 2, 3, 4], n), {8: 0.02}),
            erwerbsstatus=np.where(works, 1, rng.choice([2, 3], n)),
            wirtschaftszweig=np.where(works, rng.choice(list("ABCFGHIJKMNOPQ"), n), "-8"),
            std_woche=np.where(works, np.clip(rng.normal(36, 9, n), 2, 80).round().astype(int), -8),
            netto_einkommen=np.where(rng.random(n) < 0.08, -9, rng.lognormal(7.3, 0.6, n).round().astype(int)),
            hochrechnungsfaktor=rng.lognormal(5, 0.4, n).round(4),
            **{
                name: with_codes(rng, rng.choice([1, 2], n, p=[0.1 + 0.05 * i, 0.9 - 0.05 * i]), {9: 0.02})
                for i, name in enumerate(questions.split())
            },
        ),
        dropped={"lfd_nr": "of its own|numbers", "hochrechnungsfaktor": "[Ss]ampling weight"},
        nominal=frozenset({"geschlecht", "familienstand", "staatsangehoerigkeit", "erwerbsstatus"}),
        missing={"std_woche": ("-8",), "netto_einkommen": ("-9",), "raucher": ("9",)},
        leaks={"geburtsjahr|alter": "geburtsjahr|alter"},
        never={"hochrechnungsfaktor": frozenset({"epsilon-quasi", "k-quasi"})},
    )


def invoices(n: int = 3_000, seed: int = 14) -> MadeTable:
    """Lines of invoices: several for each invoice, several invoices for each of few customers, some returned."""
    rng = np.random.default_rng(seed)
    n_customers, n_invoices = n // 4, n // 3
    customer_of = (rng.zipf(1.5, n_invoices) * 3 + rng.integers(0, n_customers, n_invoices)) % n_customers
    invoice = np.sort(rng.integers(0, n_invoices, n))
    customer = customer_of[invoice]
    at = rng.integers(0, 365 * 1440, n_invoices)[invoice]
    product = rng.zipf(1.4, n) % 120
    price = np.round(rng.lognormal(1, 1, 120), 2)[product]
    is_return = rng.random(n) < 0.02
    quantity = np.where(is_return, -1, 1) * np.minimum(rng.zipf(1.8, n), 2000)
    return MadeTable(
        table=as_text(
            InvoiceNo=[f"{'C' * bool(r)}{536_365 + i}" for i, r in zip(invoice, is_return, strict=True)],
            StockCode=[f"{20_000 + 37 * p}{'AB'[p % 2] if p % 3 == 0 else ''}" for p in product],
            Quantity=quantity,
            InvoiceDate=[(START + dt.timedelta(minutes=int(m))).strftime("%m/%d/%Y %H:%M") for m in at],
            UnitPrice=price,
            LineTotal=np.round(quantity * price, 2),
            CustomerID=12_346 + 3 * customer,
            Country=rng.choice(
                ["United Kingdom", "Germany", "France", "EIRE"], n_customers, p=[0.85, 0.06, 0.05, 0.04]
            )[customer],
            ShipPostcode=np.array([f"{'ASEL'[c % 4]}{c % 9} {c % 7}QT" for c in range(n_customers)])[customer],
            Phone=[f"+44 20 7946 {1000 + c:04}" for c in customer],
            Discount=rng.choice([0, 0.05, 0.1, 0.15], n),
        ),
        dropped={
            "InvoiceNo": "numbers something|of its own",
            "CustomerID": "tells persons apart",
            "Phone": "phone",
        },
        never={"CustomerID": frozenset({"epsilon-quasi", "k-quasi"})},
        person="CustomerID",
    )


OTHER_TABLES: Mapping[str, Callable[..., MadeTable]] = {
    own.__name__: own for own in (stays, examined, census_persons, employed_in_german, invoices)
}

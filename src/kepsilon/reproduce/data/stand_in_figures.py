# SPDX-License-Identifier: Apache-2.0
"""The figures that the stand-ins are drawn from; written by `tools/fit_stand_ins.py`, not by hand.

Each names the table it was fitted to; where those come from is told in `docs/explanation/data-sets.md`.
"""

from __future__ import annotations

CENSUS_RACES = ("white", "black", "hispanic", "api", "native", "multiple")
AGE_KNOTS = (19, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Ages at which the register's curves are given; linear in between."""
VOTERS = {
    "black": (16.03, 26.6, 21.93, 19.55, 21.62, 19.83, 11.97, 6.85, 1.6, 0.0),
    "hispanic": (10.02, 23.2, 20.14, 20.83, 26.37, 15.68, 11.58, 9.19, 1.83, 0.0),
    "unknown": (3.0, 10.64, 15.91, 11.59, 12.42, 12.19, 8.97, 9.63, 10.37, 0.0),
    "white": (28.04, 63.88, 70.25, 78.13, 118.69, 123.36, 109.75, 61.68, 22.5, 0.0),
    "few": (6.01, 11.2, 8.72, 7.28, 11.68, 7.66, 5.69, 2.91, 0.78, 0.0),
}
"""Voters of one year of age at AGE_KNOTS by race, per 10,000 of all; fl_voters_age_sex_race.csv (9,984 registered
voters)."""
FEW = {
    "asian": 0.3405,
    "native": 0.0564,
    "other": 0.6031,
}
"""Who "few" are: races with few voters, taken to be as old as each other; fl_voters_age_sex_race.csv (9,984 registered
voters)."""
WOMEN_KNOTS = (20, 40, 60, 80, 90)
"""Ages at which the share of women is given; linear in between, level outside."""
WOMEN = (0.5409, 0.5297, 0.5287, 0.5251, 0.6556)
"""Share of women among voters at WOMEN_KNOTS, taken to be the same for every race; fl_voters_age_sex_race.csv (9,984
registered voters)."""
RATIO_KNOTS = (19, 23, 30, 40, 50, 60, 70, 85)
"""Ages at which Michigan is compared with Florida; linear in between."""
MICHIGAN_TO_FLORIDA = {
    "F": (0.5996, 0.5373, 0.4475, 0.4739, 0.4811, 0.521, 0.383, 0.4),
    "M": (0.5958, 0.5523, 0.4496, 0.4779, 0.4842, 0.5551, 0.4013, 0.3295),
}
"""Persons in Michigan for one in Florida by sex at RATIO_KNOTS; age_sex_state.csv (pop_2016)."""
AGE_VARIANCE = {
    "FL": 556,
    "MI": 535,
}
"""Variance of the age of all residents, in years squared; age_sex_state.csv (pop_2016)."""
SIZE_KNOTS = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 1.0)
"""Quantiles at which the sizes of ZIP areas are given; linear in between."""
FLORIDA = {
    "prefixes": {
        "320": (45, 10, 318, 40.8, "sparse"),
        "321": (42, 10, 300, 49.9, "sparse"),
        "322": (35, 8, 481, 36.2, "dense"),
        "323": (38, 8, 227, 35.6, "sparse"),
        "324": (44, 7, 181, 40.4, "sparse"),
        "325": (40, 9, 340, 38.5, "dense"),
        "326": (41, 9, 190, 36.9, "sparse"),
        "327": (41, 10, 500, 40.4, "dense"),
        "328": (32, 4, 467, 33.3, "dense"),
        "329": (33, 7, 328, 46.2, "dense"),
        "330": (50, 8, 857, 38.9, "dense"),
        "331": (62, 9, 1003, 38.8, "dense"),
        "333": (27, 5, 407, 40.2, "dense"),
        "334": (57, 10, 759, 44.2, "dense"),
        "335": (41, 10, 377, 39.9, "dense"),
        "336": (27, 5, 381, 35.3, "dense"),
        "337": (39, 7, 389, 45.7, "dense"),
        "338": (49, 10, 374, 41.4, "sparse"),
        "339": (50, 10, 390, 47.4, "sparse"),
        "341": (24, 5, 198, 48.9, "dense"),
        "342": (46, 10, 402, 49.4, "dense"),
        "344": (33, 8, 228, 49.1, "sparse"),
        "346": (33, 8, 347, 47.2, "dense"),
        "347": (31, 9, 320, 39.2, "dense"),
        "349": (22, 5, 235, 44.3, "dense"),
    },
    "sizes": {
        "dense": (0.0, 0.015, 0.071, 0.197, 0.51, 0.958, 1.409, 1.868, 2.036, 2.245, 3.066),
        "sparse": (0.0, 0.01, 0.02, 0.055, 0.272, 0.749, 1.48, 2.155, 2.63, 3.44, 5.269),
    },
    "age_deviation": 6.79,
    "races": {
        "320": (0.793, 0.1103, 0.0597, 0.0172, 0.0034, 0.0163),
        "321": (0.8059, 0.1024, 0.0615, 0.0146, 0.0027, 0.0129),
        "322": (0.5799, 0.2787, 0.075, 0.0413, 0.0032, 0.0219),
        "323": (0.5927, 0.3115, 0.056, 0.0206, 0.0032, 0.016),
        "324": (0.784, 0.1284, 0.0454, 0.0131, 0.007, 0.0221),
        "325": (0.7419, 0.1442, 0.0521, 0.0266, 0.0071, 0.028),
        "326": (0.6954, 0.1677, 0.0766, 0.0387, 0.0029, 0.0187),
        "327": (0.6872, 0.1049, 0.1626, 0.0259, 0.0026, 0.0168),
        "328": (0.4166, 0.2135, 0.2953, 0.0523, 0.0022, 0.0201),
        "329": (0.7737, 0.0941, 0.0909, 0.02, 0.0028, 0.0185),
        "330": (0.2996, 0.2082, 0.4533, 0.0244, 0.0016, 0.0128),
        "331": (0.1782, 0.1711, 0.624, 0.0167, 0.0008, 0.009),
        "333": (0.4542, 0.2789, 0.2192, 0.0291, 0.0018, 0.0169),
        "334": (0.6055, 0.1672, 0.1895, 0.0227, 0.002, 0.0131),
        "335": (0.6678, 0.0925, 0.1938, 0.0259, 0.0028, 0.0173),
        "336": (0.4678, 0.1954, 0.2761, 0.0395, 0.0022, 0.0191),
        "337": (0.7469, 0.1181, 0.0838, 0.0316, 0.0024, 0.0172),
        "338": (0.6596, 0.13, 0.1777, 0.0157, 0.0029, 0.014),
        "339": (0.7262, 0.0778, 0.1679, 0.0135, 0.0022, 0.0124),
        "341": (0.6705, 0.0561, 0.2528, 0.0107, 0.0018, 0.0082),
        "342": (0.79, 0.0646, 0.1178, 0.014, 0.0018, 0.0118),
        "344": (0.7836, 0.0914, 0.0935, 0.0147, 0.0029, 0.0139),
        "346": (0.8416, 0.033, 0.0902, 0.018, 0.0025, 0.0147),
        "347": (0.529, 0.1142, 0.3052, 0.0311, 0.0026, 0.0179),
        "349": (0.6653, 0.1388, 0.1641, 0.0138, 0.0037, 0.0142),
    },
    "race_deviations": {
        "black": 1.356,
        "hispanic": 0.89,
        "api": 0.646,
        "native": 0.611,
        "multiple": 0.571,
    },
    "race_correlation": 0.578,
    "age_correlation": -0.7,
}
"""Three-digit prefixes with their numbers of ZIP areas and of four-digit beginnings, residents per 10,000 of the
state, median age, and whether a ZIP area has 15,000 residents on average; sizes of ZIP areas at SIZE_KNOTS relative
to their prefix's mean; shares of CENSUS_RACES where race is used; and what varies between the ZIP areas of a
prefix: deviation of the median age, deviations of log(race share / white share), the common correlation of these,
and that of the median age with what they have in common. zcta_fl.csv."""
MICHIGAN = {
    "prefixes": {
        "480": (69, 10, 1146, 40.5, "dense"),
        "481": (70, 10, 1570, 38.5, "dense"),
        "482": (36, 5, 936, 35.9, "dense"),
        "483": (51, 10, 981, 40.9, "dense"),
        "484": (58, 8, 465, 41.5, "sparse"),
        "485": (10, 4, 192, 36.9, "dense"),
        "486": (50, 7, 410, 42.2, "sparse"),
        "487": (49, 7, 214, 44.8, "sparse"),
        "488": (76, 10, 634, 36.5, "sparse"),
        "489": (7, 3, 164, 34.4, "dense"),
        "490": (78, 10, 754, 38.3, "sparse"),
        "491": (20, 4, 110, 42.6, "sparse"),
        "492": (57, 8, 355, 40.0, "sparse"),
        "493": (42, 5, 328, 37.8, "sparse"),
        "494": (47, 7, 566, 37.6, "sparse"),
        "495": (14, 5, 408, 33.8, "dense"),
        "496": (66, 10, 271, 44.4, "sparse"),
        "497": (65, 10, 229, 45.3, "sparse"),
        "498": (66, 10, 184, 43.5, "sparse"),
        "499": (46, 8, 83, 43.0, "sparse"),
    },
    "sizes": {
        "dense": (0.001, 0.066, 0.146, 0.246, 0.468, 0.971, 1.371, 1.774, 2.124, 2.477, 3.186),
        "sparse": (0.002, 0.018, 0.047, 0.096, 0.223, 0.511, 1.167, 2.459, 3.764, 5.62, 12.174),
    },
    "age_deviation": 4.77,
}
"""Three-digit prefixes with their numbers of ZIP areas and of four-digit beginnings, residents per 10,000 of the
state, median age, and whether a ZIP area has 15,000 residents on average; sizes of ZIP areas at SIZE_KNOTS relative
to their prefix's mean; shares of CENSUS_RACES where race is used; and what varies between the ZIP areas of a
prefix: deviation of the median age, deviations of log(race share / white share), the common correlation of these,
and that of the median age with what they have in common. zcta_mi.csv."""
BODY_AGES = (17, 18, 19, 20, 30, 40, 50, 60, 70, 80)
"""First ages of the bands of HEIGHT_CM and LN_WEIGHT_KG; the last has no end."""
HEIGHT_CM = {
    "F": (
        (163.08, 7.582),
        (163.13, 5.941),
        (163.3, 5.921),
        (163.09, 7.0),
        (163.36, 7.097),
        (163.05, 6.831),
        (162.2, 6.852),
        (161.6, 6.501),
        (159.11, 6.641),
        (155.85, 6.314),
    ),
    "M": (
        (175.92, 7.635),
        (176.35, 6.877),
        (177.79, 7.225),
        (176.25, 7.427),
        (176.45, 7.826),
        (176.82, 7.468),
        (176.62, 7.274),
        (174.85, 7.481),
        (173.15, 7.125),
        (170.68, 6.963),
    ),
}
"""Mean and deviation of height by sex and band; anthropometry.csv, NHANES 2007-2010, kind sd."""
LN_WEIGHT_KG = {
    "F": (
        (4.12651, 0.22922),
        (4.14858, 0.2415),
        (4.18848, 0.24888),
        (4.25615, 0.27473),
        (4.30697, 0.25329),
        (4.30003, 0.25281),
        (4.31482, 0.24395),
        (4.32287, 0.22525),
        (4.28747, 0.23245),
        (4.15308, 0.19765),
    ),
    "M": (
        (4.31793, 0.24419),
        (4.3725, 0.22444),
        (4.35315, 0.20905),
        (4.39898, 0.21869),
        (4.47968, 0.22199),
        (4.48918, 0.20481),
        (4.49284, 0.20733),
        (4.48072, 0.21804),
        (4.44178, 0.18992),
        (4.35754, 0.17916),
    ),
}
"""Mean and deviation of the logarithm of weight by sex and band; the same source."""

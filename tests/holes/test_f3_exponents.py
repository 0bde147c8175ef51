# SPDX-License-Identifier: Apache-2.0
"""Codes that look like numbers with a huge exponent are text, and so is everything else that is not plainly a number."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kepsilon as ke

HUGE = ("3e41592653", "0e41592653", "9E99999999", "1E-999999999", "5e-41592653")
"""Codes whose digits, if they were worked out, would fill memory or leave the range of Python's decimals."""

NO_NUMBERS = (*HUGE, "1e400", "-1e999", "nan", "NaN", "inf", "-Infinity", "0x10", "1_000", "٣٤", "３４", "1" * 400)
"""Texts that Python, NumPy or Arrow would take for numbers, and that are text here."""

N = 40


def table(**columns: list[str]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def policy(algorithm: str = "mondrian", **attributes: dict) -> ke.Policy:
    return ke.Policy.from_dict(
        {"k": 2, "epsilon": 1, "algorithm": algorithm, "max_suppression": 1.0, "attributes": attributes}
    )


def codes(text: str) -> list[str]:
    """Numbers, and a code among them, in several records each."""
    return [text if i % 4 == 0 else str(10 + i % 5) for i in range(N)]


def everything_said(error: BaseException) -> str:
    return repr(error) + str(error) + repr(error.args) + repr(error.__cause__) + repr(error.__context__)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:12])
def test_f3_a_k_quasi_with_such_a_code_is_a_category(text):
    """Mondrian releases it, and the audit can read the release, without taking any value for a number."""
    original = table(code=codes(text))
    own = policy(code={"role": "k-quasi"})
    released = ke.anonymise(original, own).frame
    labels = set(released.column("code").to_pylist())
    assert not any(label.startswith("[") for label in labels), "an interval would take the codes for numbers"
    findings = ke.audit(original, released, own).findings
    assert [finding for finding in findings if finding.severity == "broken"] == []


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:12])
@pytest.mark.parametrize("algorithm", ["ola", "mondrian"])
def test_f3_intervals_refuse_such_a_code_by_column_and_count(text, algorithm):
    """For an attribute with intervals the code is a value that the hierarchy does not list, and is not shown."""
    own = policy(algorithm, code={"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [5]}})
    for work in (ke.anonymise, ke.check, ke.explore):
        with pytest.raises(ke.DataError, match='"code": 10 records hold 1 values that its hierarchy') as refusal:
            work(table(code=codes(text)), own)
        assert text not in everything_said(refusal.value)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:12])
def test_f3_an_epsilon_quasi_refuses_such_a_code_by_column_and_count(text):
    """Not even as zero or infinity does it become a number that gets noise."""
    own = policy(code={"role": "epsilon-quasi", "precision": 1, "range": "class"}, sex={"role": "k-quasi"})
    with pytest.raises(ke.DataError, match=r'"code".* 10 records hold text that is not a number') as refusal:
        ke.anonymise(table(code=codes(text), sex=["f", "m"] * (N // 2)), own)
    assert text not in everything_said(refusal.value)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:12])
def test_f3_init_does_not_propose_numbers_for_such_codes(text):
    """What `init` proposes for a column, the other commands have to be able to place."""
    proposal = ke.propose_policy(table(level=codes(text), other=["a", "b"] * (N // 2)))
    own = proposal.partition("[attributes.level]")[2].partition("[attributes.other]")[0]
    if text.lower() == "nan":  # a mark of missing values: the others are numbers, and the policy can place it
        assert f'missing_values = ["{text}"]' in own
        return
    assert "intervals" not in own
    assert "epsilon-quasi" not in [line.partition('role = "')[2].rstrip('"') for line in own.splitlines()]


@pytest.mark.parametrize("text", HUGE)
def test_f3_init_survives_a_column_of_nothing_but_huge_exponents(text):
    """Every value has the shape of a number, as ten-digit hexadecimal ids may have."""
    texts = [text, "4e55555555", "0e12345678", "7e-9999999"] * (N // 4)
    assert 'role = "k-quasi"' in ke.propose_policy(table(level=texts))


def test_f3_dates_have_the_digits_0_to_9():
    """Python's strptime reads digits of every script, so that one day would have several spellings in a release."""
    own = policy(
        "ola",
        day={"role": "k-quasi", "hierarchy": {"type": "dates", "units": ["month"], "format": "%d.%m.%Y"}},
    )
    days = ["01.02.2020"] * (N - 2) + ["01.02.٢٠٢٠", "01.02.２０２０"]
    with pytest.raises(ke.DataError, match="2 records hold 2 values that its hierarchy"):
        ke.anonymise(table(day=days), own)


def test_f3_ordinary_numbers_are_still_numbers():
    """The rule takes what programs write: signs, exponents, blanks around, a point at either end."""
    texts = ["1", "+1", "-1", "1.", ".5", "-0.5", "1e5", "1E+05", "2e-03", " 7 ", "1.50", "12345678901", "1e-320"]
    own = policy("ola", code={"role": "k-quasi", "hierarchy": {"type": "intervals", "widths": [10]}})
    assert ke.anonymise(table(code=texts * 3), own).frame.num_rows == 39
    noisy = policy(code={"role": "epsilon-quasi", "precision": 1, "range": [0, 10]})
    assert ke.anonymise(table(code=texts * 3), noisy).frame.num_rows == 39

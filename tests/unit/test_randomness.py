# SPDX-License-Identifier: Apache-2.0
"""Where bytes come from, and integers below a bound."""

import importlib.util
import os
import pickle
import sys

import numpy as np
import pytest

from kepsilon import randomness
from kepsilon.randomness import system_bytes, uniform_below, uniform_uint64, unsafe_seeded_bytes
from oracles.noise import ALPHA, ScriptedBytes, chi_square_p, seeded


def test_system_bytes_are_not_seeded_and_never_repeat():
    """The difference of two releases with the same noise would be the data."""
    first, second = system_bytes(), system_bytes()
    assert not first.seeded
    assert len(first.bytes(64)) == 64
    assert len({first.bytes(64), first.bytes(64), second.bytes(64)}) == 3


def test_seeded_bytes_say_so_and_repeat():
    """A seed is for tests, so it must give the same again; and the manifest must be able to tell."""
    one, same, other = unsafe_seeded_bytes(7), unsafe_seeded_bytes(7), unsafe_seeded_bytes(8)
    assert one.seeded
    assert one.bytes(100) == same.bytes(100)
    assert one.bytes(100) == same.bytes(100)
    assert one.bytes(100) != other.bytes(100)


def test_sources_apart_have_nothing_in_common():
    """What is drawn on two workers must differ, also where a seed makes it repeatable, and from what is drawn here."""
    here = unsafe_seeded_bytes(7)
    drawn = [
        own.bytes(64) for own in (here, here.apart(0), here.apart(1), here.apart(1).apart(0), here.apart(0).apart(1))
    ]
    assert len(set(drawn)) == 5
    assert unsafe_seeded_bytes(7).apart(1).bytes(64) == drawn[2]
    assert here.apart(3).seeded
    assert not system_bytes().apart(3).seeded
    assert system_bytes().apart(3).bytes(64) != system_bytes().apart(3).bytes(64)


def test_sources_are_sent_elsewhere():
    """A seeded one as it is, whatever was drawn from it here; the system's becomes that of the other system."""
    seeded_here = unsafe_seeded_bytes(7).apart(2)
    there = pickle.loads(pickle.dumps(seeded_here))
    assert there.seeded
    assert there.bytes(64) == seeded_here.bytes(64)
    assert isinstance(pickle.loads(pickle.dumps(system_bytes())), randomness._SystemBytes)
    assert b"RAND" not in pickle.dumps(system_bytes())


@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 30, 35])
def test_large_requests_are_divided(monkeypatch, n):
    """OpenSSL takes fewer than 2^31 bytes at a time."""
    assert randomness._LARGEST_REQUEST < 1 << 31
    monkeypatch.setattr(randomness, "_LARGEST_REQUEST", 10)
    requests = []

    def request(size):
        requests.append(size)
        return bytes(size)

    source = randomness._SystemBytes(request)
    assert len(source.bytes(n)) == n
    assert max(requests) <= 10
    assert sum(requests) == n


def test_without_openssl_the_operating_system_is_asked(monkeypatch):
    """A Python without ssl still has a cryptographic generator, and must not fall back on any other."""
    monkeypatch.setitem(sys.modules, "ssl", None)
    specification = importlib.util.spec_from_file_location("randomness_without_ssl", randomness.__file__)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert module._system_random is os.urandom
    assert not module.system_bytes().seeded
    assert len(module.system_bytes().bytes(16)) == 16


def test_uint64_has_a_stated_byte_order():
    """One seed means one sequence of draws, on every machine."""
    drawn = uniform_uint64(2, ScriptedBytes(bytes([1] + 7 * [0] + 7 * [0] + [1])))
    assert drawn.tolist() == [1, 1 << 56]


@pytest.mark.parametrize("bound", [2, 3, 5, 7, 8, 100, 129])
def test_every_integer_below_the_bound_is_equally_likely(bound):
    """χ² with α = 1e-9; bounds just above a power of two are where a remainder or a wrong mask shows."""
    drawn = uniform_below(np.full(100_000, bound), seeded(bound)).astype(np.int64)
    counts = np.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert chi_square_p(counts, np.full(bound, 1 / bound)) > ALPHA


@pytest.mark.parametrize("bound", [3, 5, 7, 100, 129])
def test_a_remainder_would_be_noticed(bound):
    """The test above has the power to tell a draw that folds large numbers back instead of refusing them."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    folded = (uniform_uint64(100_000, seeded(bound)) & mask) % np.uint64(bound)
    assert chi_square_p(np.bincount(folded.astype(np.int64), minlength=bound), np.full(bound, 1 / bound)) < ALPHA


def test_bounds_go_element_by_element_and_may_be_large():
    """Radii differ from record to record and reach 2^62."""
    bounds = np.array([[1, 10, 1 << 62], [(1 << 62) + 1, 3, 2]] * 50_000)
    drawn = uniform_below(bounds, seeded(1))
    assert drawn.shape == bounds.shape
    assert np.all(drawn < bounds.astype(np.uint64))
    assert drawn[:, 2].max() > 1 << 61
    full = uniform_below(np.array([2**64 - 1] * 1000, dtype=np.uint64), seeded(2))
    assert full.max() > 1 << 63


@pytest.mark.parametrize("power", [9, 31, 32, 33, 40, 61, 62])
def test_every_bit_of_a_large_integer_is_random(power):
    """A bound just above a power of two: all bits below must be drawn, also those far below. χ² of every byte."""
    drawn = uniform_below(np.full(50_000, (1 << power) + 1), seeded(power))
    for shift in range(0, power - 7, 8):
        counts = np.bincount((drawn >> np.uint64(shift) & np.uint64(0xFF)).astype(np.int64), minlength=256)
        # At 2^9 + 1 the one value 2^9 adds 1/513 to the count of zero bytes.
        probabilities = np.full(256, ((1 << power) >> 8) / ((1 << power) + 1))
        probabilities[0] += 1 / ((1 << power) + 1)
        assert chi_square_p(counts, probabilities) > ALPHA


def test_what_is_too_large_is_drawn_again_and_not_folded_back():
    """Below 5: the three bits 7 and 5 are refused, 4 is taken; a remainder would have given 2."""
    words = [7, 5, 4]
    source = ScriptedBytes(b"".join(word.to_bytes(8, "little") for word in words))
    assert uniform_below(np.array([5]), source).tolist() == [4]
    assert source.left == b""


@pytest.mark.parametrize("bounds", [[0], [3, -1]])
def test_a_bound_below_one_is_refused(bounds):
    """There is no integer below it, and the loop would not end."""
    with pytest.raises(ValueError, match="at least 1"):
        uniform_below(np.array(bounds), seeded())


def test_no_integers_can_be_asked_for():
    """An empty class is no error."""
    assert uniform_below(np.zeros((0, 2), dtype=np.int64), seeded()).shape == (0, 2)
    assert uniform_uint64(0, seeded()).size == 0

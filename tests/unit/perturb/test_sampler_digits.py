# SPDX-License-Identifier: Apache-2.0
"""Every branch of the sampler, driven by scripted bytes: what is drawn is what the exact thresholds say."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from kepsilon.perturb import sampler
from kepsilon.perturb.expansions import cumulative
from kepsilon.perturb.sampler import geometric, record_noise, two_sided_geometric
from oracles.noise import ConstantBytes, ScriptedBytes, seeded

# ε = 4 on a grid of 2^8 has one group, with step 4/256, and e^−4 beyond it.
ONE_GROUP = {"epsilon": Fraction(4), "grid_bits": 8}


def first_bits_of(group, value):
    """Two bytes that a group reads as this value, whatever would follow."""
    return int(np.flatnonzero(group.by_first_bits == value)[0]).to_bytes(2, "little")


def script_of(uniform, n_bits):
    """The bytes from which one group reads the number 0.uniform: 16 bits, 48 more, then big-endian to the end."""
    places = uniform.to_bytes(n_bits // 8, "big")
    middle = bytes(2) + places[2:8][::-1]  # the lowest two bytes of the little-endian word are not used
    return places[:2][::-1] + middle + places[8:]


def bits_needed(uniform, boundaries):
    """How many of 1024 bits the sampler has to see: the first of its stages at which no boundary is equal any more."""
    return next(n for n in (16, 64, 256, 512, 1024) if all(b >> 1024 - n != uniform >> 1024 - n for b in boundaries))


@pytest.mark.parametrize("v", [1, 2, 100, 255])
@pytest.mark.parametrize("index", range(5))
def test_bytes_equal_to_a_threshold_are_settled_by_the_next_byte(index, v):
    """All bytes agree with the stored expansion up to byte m, and byte m decides as the exact integer does.

    A sampler that decided a tie by the flip of a coin, or always the same way, would pass every chi-square.
    """
    group = sampler._groups(Fraction(2), 32)[index]
    boundaries = cumulative(group.step, is_top=group.is_top, bits=1024)
    boundary = boundaries[v - 1]
    for m in (0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 127):
        rest = (1 << 8 * (127 - m)) - 1
        for change in (-1, 1):
            if not 0 <= (boundary >> 8 * (127 - m) & 0xFF) + change <= 0xFF:
                continue
            # The bytes after the deciding one speak for the other side.
            uniform = (boundary + change * (rest + 1)) & ~rest | (rest if change < 0 else 0)
            n_bits = bits_needed(uniform, boundaries)
            script = script_of(uniform >> 1024 - max(n_bits, 64), max(n_bits, 64))
            source = ScriptedBytes(script if n_bits > 16 else script[:2])
            expected = sum(b <= uniform for b in boundaries)
            assert group.draw(1, source).tolist() == [expected]
            assert source.left == b"", "bytes are fetched only where the ones before were equal"
            if m > 2 and index < 4:  # elsewhere other thresholds have the same first bytes
                assert expected == (v if change > 0 else v - 1)


def test_a_tie_of_512_bits_is_settled_too():
    """The thresholds are irrational: there is always a next place."""
    group = sampler._groups(Fraction(2), 32)[0]
    boundary = cumulative(group.step, is_top=False, bits=512)[41]
    for last, expected in ((0, 41), (1, 42)):
        source = ScriptedBytes(script_of(boundary << 512 | last * ((1 << 512) - 1), 1024))
        assert group.draw(1, source).tolist() == [expected]
        assert source.left == b""


def test_groups_are_the_bytes_of_the_number_lowest_first():
    """A digit drawn with its neighbour's probability is a wrong scale."""
    groups = sampler._groups(Fraction(2), 32)
    assert [group.step for group in groups] == [Fraction(2) / 2**32 * 256**i for i in range(5)]
    assert [group.is_top for group in groups] == [False] * 4 + [True]
    script = b"".join(first_bits_of(group, value) for group, value in zip(groups, (1, 2, 3, 4, 0), strict=True))
    assert geometric(1, epsilon=Fraction(2), source=ScriptedBytes(script)).tolist() == [0x04030201]


def test_beyond_the_top_group_the_variable_starts_again():
    """A geometric variable has no memory: each lap adds 256 steps of the top group."""
    beyond = b"\xff\xff"
    for laps in range(4):
        drawn = geometric(1, **ONE_GROUP, source=ScriptedBytes(beyond * laps + b"\x00\x00"))
        assert drawn.tolist() == [256 * laps]


def test_minus_zero_is_drawn_again():
    """Without this, zero would come up twice as often as it should."""
    zero, plus, minus = b"\x00\x00", b"\x00", b"\x80"
    source = ScriptedBytes(zero + minus + zero + minus + zero + plus)
    assert two_sided_geometric(1, **ONE_GROUP, source=source).tolist() == [0]
    assert source.left == b""


@pytest.mark.parametrize(("sign", "expected"), [(b"\x00", [7, 7]), (b"\x40", [7, -7]), (b"\x80", [-7, 7])])
def test_each_draw_has_its_own_sign(sign, expected):
    """The bits of one byte are the signs of eight draws, in order."""
    group = sampler._groups(Fraction(4), 8)[0]
    source = ScriptedBytes(2 * first_bits_of(group, 7) + sign)
    assert two_sided_geometric(2, **ONE_GROUP, source=source).tolist() == expected


def test_a_broken_source_is_an_error_and_not_a_number():
    """Bytes that chance cannot repeat must neither hang nor overflow."""
    with pytest.raises(RuntimeError, match="broken"):
        geometric(1, **ONE_GROUP, source=ConstantBytes(0xFF))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10_000), Fraction(1, 20), Fraction(2), Fraction(100)])
def test_int64_has_room_for_whatever_is_drawn(epsilon):
    """At most 2^56 for a radius of one, and 63 of them for a record with 62 attributes: 2M + 2d stays below 2^63."""
    n_groups = len(sampler._groups(epsilon, 32))
    assert n_groups <= 6
    largest = 256 ** (n_groups - 1) * (256 * (sampler._LARGEST_LAPS - 1) + 256 + 255) + 256 ** (n_groups - 1) - 1
    assert largest < 1 << 56
    assert 2 * (sampler.MOST_EPSILON_QUASIS + 1) * largest + 2 * sampler.MOST_EPSILON_QUASIS < 1 << 63
    assert sampler._groups(epsilon, 32)[-1].step * 256 >= 4, "a lap must be rare for the argument to hold"


@pytest.mark.parametrize("n", [0, 1, 7, 9, sampler._CHUNK - 1, sampler._CHUNK + 1, 2 * sampler._CHUNK + 3])
def test_any_number_of_draws(n):
    """Chunks are for the cache and must not show."""
    for d in (0, 1, 2, 5):
        noise = record_noise(n, d, epsilon=Fraction(1), source=seeded())
        assert noise.shape == (n, d)
        assert noise.dtype == np.int64
    assert geometric(n, epsilon=Fraction(1), source=seeded()).shape == (n,)
    assert two_sided_geometric(n, epsilon=Fraction(1), source=seeded()).shape == (n,)


def test_memory_does_not_grow_with_the_draws():
    """Ten million draws need the result and a few megabytes."""
    sampler._groups(Fraction(2), 32)
    tracemalloc.start()
    noise = two_sided_geometric(2_000_000, epsilon=Fraction(2), source=seeded())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - noise.nbytes < 8 << 20


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 10_001), Fraction(10_001, 100)])
def test_an_epsilon_outside_its_range_is_refused(epsilon):
    """The proof that nothing overflows holds inside it."""
    with pytest.raises(ValueError, match="epsilon"):
        two_sided_geometric(1, epsilon=epsilon, source=seeded())


@pytest.mark.parametrize("grid_bits", [-1, 33])
def test_a_grid_outside_its_range_is_refused(grid_bits):
    """A finer grid would overflow the digits that were reckoned with."""
    with pytest.raises(ValueError, match="bits"):
        geometric(1, epsilon=Fraction(1), source=seeded(), grid_bits=grid_bits)


@pytest.mark.parametrize("d", [-1, 63])
def test_too_many_attributes_are_refused(d):
    """The sum of more geometric variables might not fit into 63 bits."""
    with pytest.raises(ValueError, match="62"):
        record_noise(1, d, epsilon=Fraction(1), source=seeded())

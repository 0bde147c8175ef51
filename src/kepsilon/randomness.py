# SPDX-License-Identifier: Apache-2.0
"""The only place random bytes come from; uniform integers and the shuffle are made of them here.

Everything drawn, noise and shuffle keys alike, is an exact function of the bytes of a `ByteSource` that the edge of the
program made and passed in. No module keeps a generator of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kepsilon.errors import ArgumentError
from kepsilon.table.arrays import IntArray
from kepsilon.threads import in_pieces

try:
    from ssl import RAND_bytes as _system_random
except ImportError:  # a Python built without OpenSSL: the operating system's own generator, about three times slower
    _system_random = os.urandom

_LARGEST_REQUEST = 1 << 30
"""OpenSSL takes the number of bytes as a C int, so one request stays well below 2^31."""

_CHUNK = 1 << 16
"""Integers drawn at a time, so that what is in flight (half a megabyte an array) stays in cache."""


class ByteSource(Protocol):
    """Where random bytes come from."""

    @property
    def seeded(self) -> bool:
        """True if somebody who knows the seed can repeat the bytes; a release made of them says so."""
        ...

    def bytes(self, n: int) -> bytes:
        """The next n bytes, each uniform and independent of all others."""
        ...

    def apart(self, number: int) -> ByteSource:
        """A source for work that is done elsewhere; sources of different numbers are independent."""
        ...


class _SystemBytes:
    """OpenSSL's generator (AES-CTR, seeded by the operating system, and again after a fork), or the system's own."""

    __slots__ = ("_request",)
    seeded = False

    def __init__(self, request: Callable[[int], bytes]) -> None:
        self._request = request

    def bytes(self, n: int) -> bytes:
        if n <= _LARGEST_REQUEST:
            return self._request(n)
        sizes = [_LARGEST_REQUEST] * (n // _LARGEST_REQUEST) + [n % _LARGEST_REQUEST]
        return b"".join(self._request(size) for size in sizes)

    def apart(self, number: int) -> ByteSource:
        """The system's own source: it gives fresh bytes wherever it is asked."""
        del number
        return self

    def __reduce__(self) -> tuple[Callable[[], ByteSource], tuple[()]]:
        """A process that unpickles this source asks the system it runs on."""
        return system_bytes, ()


class _SeededBytes:
    """Philox, which is no cryptographic generator: for tests and experiments only."""

    __slots__ = ("_generator", "_path", "_seed")
    seeded = True

    def __init__(self, seed: int, path: tuple[int, ...] = ()) -> None:
        self._seed, self._path = seed, path
        self._generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=path)))

    def bytes(self, n: int) -> bytes:
        return self._generator.bytes(n)

    def apart(self, number: int) -> ByteSource:
        # A path, not a longer seed: to NumPy a seed with zeros behind it is the same seed.
        return _SeededBytes(self._seed, (*self._path, number))


def system_bytes() -> ByteSource:
    """The source for everything that is published: cryptographic, and never the same twice."""
    return _SystemBytes(_system_random)


def unsafe_seeded_bytes(seed: int) -> ByteSource:
    """A source that repeats itself: whoever knows the seed can take the noise off again."""
    if seed < 0:
        raise ArgumentError("unsafe_seed: should be 0 or more.")
    return _SeededBytes(seed)


def uniform_uint64(n: int, source: ByteSource) -> NDArray[np.uint64]:
    """Integers uniform on 0 … 2^64 − 1, shape (n,)."""
    # A stated byte order makes a seed mean the same draws on every machine.
    return np.frombuffer(source.bytes(8 * n), dtype="<u8").astype(np.uint64, copy=False)


def uniform_below(bounds: NDArray[np.int64] | NDArray[np.uint64], source: ByteSource) -> NDArray[np.uint64]:
    """Integers uniform on 0 … bound − 1, one for each bound, exactly; the shape of `bounds`.

    Each is drawn with as many random bits as its largest allowed value has; a number that is too large is drawn again,
    which happens to less than half of them. (A remainder or a scaled float would favour some values.)
    """
    if bounds.size and bounds.min() < 1:
        raise ValueError("a uniform integer below a bound needs a bound of at least 1")
    flat = bounds.reshape(-1).astype(np.uint64, copy=False)
    drawn = np.empty(len(flat), dtype=np.uint64)
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        drawn[part] = _uniform_below(flat[part], source)
    return drawn.reshape(bounds.shape)


def _uniform_below(bounds: NDArray[np.uint64], source: ByteSource) -> NDArray[np.uint64]:
    """Integers uniform on 0 … bound − 1 for one chunk of bounds."""
    largest = bounds - np.uint64(1)
    masks = largest.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    drawn = uniform_uint64(len(bounds), source) & masks
    pending = np.flatnonzero(drawn > largest)
    while pending.size:
        again = uniform_uint64(pending.size, source) & masks[pending]
        drawn[pending] = again
        pending = pending[again > largest[pending]]
    return drawn


def shuffled_positions(n: int, *, random_bytes: Callable[[int], bytes]) -> IntArray:
    """A permutation of 0 … n − 1, each equally likely, by sorting random keys. Algorithm 1, line 10.

    A key is random in its upper bits and carries its position in the lower ones, because sorting integers in place is
    ten times faster than `argsort`. Where upper bits are equal the position would decide, so those few are put in an
    order drawn afresh.
    """
    position_bits = np.uint64(max(1, n - 1).bit_length())
    positions_only = np.uint64((1 << int(position_bits)) - 1)
    drawn_keys = np.frombuffer(random_bytes(8 * n), dtype="<u8")
    keys = np.empty(n, dtype=np.uint64)
    order = np.empty(n, dtype=np.int64)

    def fill(part: slice) -> None:
        own = drawn_keys[part] & ~positions_only
        own |= np.arange(part.start, part.stop, dtype=np.uint64)
        keys[part] = own

    def split(part: slice) -> None:
        order[part] = keys[part] & positions_only
        keys[part] >>= position_bits

    in_pieces(n, fill)
    keys.sort()
    in_pieces(n, split)
    equal = np.flatnonzero(keys[1:] == keys[:-1])
    if len(equal):
        tied = np.union1d(equal, equal + 1)
        within = shuffled_positions(len(tied), random_bytes=random_bytes)
        # `within` orders all tied records at random; a stable sort by key keeps that order inside each tie.
        drawn = within[np.argsort(keys[tied][within], kind="stable")]
        order[tied] = order[tied][drawn]
    return order

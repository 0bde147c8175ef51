# SPDX-License-Identifier: Apache-2.0
"""Work on several cores finds what work on one finds, in the same order, and ends with the first error."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kepsilon import threads


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def n_threads(request, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: request.param)
    return request.param


def test_what_is_found_comes_in_the_order_of_the_pieces(n_threads):
    """Whichever piece is done first."""

    def work(piece):
        time.sleep(0.002 * (piece % 3))
        return piece * piece

    assert list(threads.each_of(range(20), work)) == [piece * piece for piece in range(20)]


def test_an_error_is_raised_and_the_rest_is_not_begun(n_threads):
    """A refusal in one batch ends the run; nobody waits for all others."""
    begun = []

    def work(piece):
        begun.append(piece)
        if piece == 2:
            raise ValueError("no")
        return piece

    with pytest.raises(ValueError, match="no"):
        list(threads.each_of(range(1000), work))
    assert len(begun) < 20


def test_work_runs_ahead_by_a_few_pieces_only(n_threads):
    """What was found and is not taken yet has to fit into memory."""
    begun = []
    found = threads.each_of(range(1000), begun.append)
    for _ in range(5):
        next(found)
    time.sleep(0.05)
    assert len(begun) <= 5 + 2 * n_threads
    found.close()


def test_a_single_piece_is_worked_on_where_it_is(n_threads):
    """Small tables start no thread."""
    assert list(threads.each_of([1], lambda _: threading.current_thread())) == [threading.current_thread()]


def test_pieces_of_an_array_are_all_filled(n_threads):
    """Every number once, whatever the length."""
    for n in (0, 1, 1 << 17, (1 << 17) + 1, 400_000):
        array = np.zeros(n)

        def fill(part, array=array):
            array[part] += np.arange(part.start, part.stop)

        threads.in_pieces(n, fill)
        assert np.array_equal(array, np.arange(n))


def test_what_is_begun_at_once_is_the_same_as_what_is_worked_out_later(n_threads):
    """And its error is raised where it is asked for."""
    for at_once in (True, False):
        with threads.begun(lambda: 7, at_once=at_once) as found:
            assert found() == 7
        with threads.begun(lambda: 1 // 0, at_once=at_once) as found, pytest.raises(ZeroDivisionError):
            found()


def test_linear_algebra_starts_no_threads_beside_ours(monkeypatch):
    """Its threads and ours would wait for one another: three times the work of the processor, on a machine that is busy."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)

    def blas_threads(_piece=None):
        return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}

    def fails(_piece):
        raise ValueError

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with threads.begun(blas_threads, at_once=True) as beside:
            assert list(threads.each_of(range(3), blas_threads)) == [{1}] * 3
            assert blas_threads() == {1}
        assert beside() == {1}
        with pytest.raises(ValueError):
            list(threads.each_of(range(3), fails))
        assert blas_threads() == before == {2}


def test_who_could_not_come_in_is_not_counted_as_inside(monkeypatch):
    """Otherwise linear algebra would start threads beside ours until the program ends, and never be told to stop."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)

    def blas_threads(_piece=None):
        return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}

    def fails():
        raise MemoryError

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with monkeypatch.context() as patched:
            patched.setattr(threads, "_blas", fails)
            with pytest.raises(MemoryError):
                list(threads.each_of(range(3), blas_threads))
        assert list(threads.each_of(range(3), blas_threads)) == [{1}] * 3
        assert blas_threads() == before == {2}


def test_a_generator_may_be_closed_while_another_thread_comes_in(monkeypatch):
    """Python closes one that nobody takes from any more between any two lines, also of the lines that count who is inside."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    half_taken = threads.each_of(range(9), abs)
    next(half_taken)
    inside = threads._WITHOUT_BLAS_THREADS
    done = threading.Event()

    def closes():
        with inside._lock:
            half_taken.close()
        done.set()

    threading.Thread(target=closes, daemon=True).start()
    assert done.wait(10)


@pytest.mark.parametrize("how", ["pieces inside", "a loop that asks"])
def test_work_that_nobody_waits_for_any_more_ends(monkeypatch, how):
    """Ctrl-C would otherwise wait until the searches for several k are done, each of which may take a minute."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    ended = []

    def turn():
        time.sleep(0.01)
        if how == "pieces inside":
            threads.in_pieces(5, lambda _part: None)
        else:
            threads.go_on()

    def takes_long(piece=1):
        try:
            for _ in range(1000 if piece else 0):
                turn()
        except threads.GivenUpError:
            ended.append(piece)
            raise
        return piece

    def outer(piece):
        return list(threads.each_of([0, piece, piece], takes_long))

    start = time.perf_counter()
    found = threads.each_of([0, 1, 1], takes_long)
    assert next(found) == 0
    found.close()
    found = threads.each_of([0, 1], outer)  # pieces of a piece
    assert next(found) == [0, 0, 0]
    time.sleep(0.1)
    found.close()

    def interrupted():
        with threads.begun(takes_long, at_once=True):
            time.sleep(0.05)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.perf_counter() - start < 5
    assert len(ended) >= 3
    assert list(threads.each_of(range(3), abs)) == [0, 1, 2]  # who comes later is not given up

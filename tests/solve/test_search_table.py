"""The table of a search: shared by threads, saved to files, and with entries that two threads have mixed."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import uint32
from tensor_envs.solve import alpha_beta
from tensor_envs.solve.bounds import bucket_numbers, checks
from tensor_envs.solve.canonical import canonical
from tensor_envs.solve.transpositions import BUCKET, OFFSET, TranspositionTable, entry_words
from tests.games.shared import shared_env
from tests.solve.searched import live_rows, position, random_games


class Memory(list[Any]):
    """Words of a table outside a kernel."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(int(index.value))


def test_an_entry_that_two_threads_have_mixed_matches_no_position() -> None:
    """Exchange the words of two entries in all ways; only whole entries are found."""
    positions = [[uint32(x) for x in key] for key in ((1, 2, 3), (4, 5, 6), (1, 5, 3), (4, 5, 3), (1, 5, 6))]
    table, entries = TranspositionTable(Memory(), uint32(1), 3), list[list[Any]]()  # type: ignore[arg-type]
    for key, low, action in zip(positions[:2], (7, 2), (3, 1), strict=True):
        bounds, rest = uint32(low + OFFSET) | uint32(9 + OFFSET) << 16, uint32(action)
        entries.append([*key[:2], key[2] ^ table.check([*key[:2], bounds, rest]), bounds, rest])
    for choice in itertools.product((0, 1), repeat=5):
        mixed = [entries[of][w] for w, of in enumerate(choice)]
        table.cells = Memory([*mixed, *[uint32(0)] * 11])  # type: ignore[assignment]
        found = [table.look_up(uint32(0), key) for key in positions]
        hits = [choice == (0,) * 5, choice == (1,) * 5, False, False, False]
        assert [bool(x.hit.value) for x in found] == hits
        for x, low, action in zip(found, (7, 2), (3, 1), strict=False):
            assert not x.hit.value or (x.low.value, x.high.value, x.action.value) == (low, 9, action)


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", (2**9, 2**16))
def test_threads_that_search_one_position_together(memory: int, threads: Callable[[int], None]) -> None:
    """Compare with enumeration, on a table of so few entries that threads often write to the same one."""
    env = shared_env("connect_four", rows=4, columns=4)
    whole, states = te.solve(env), random_games(env, 8, batch=4)[4:]
    threads(5)
    exact = te.solve(env, method="search", memory=memory)
    for state in states:
        for row in range(state.batch):
            assert exact.distance(state[[row]]) == whole.distance(state[[row]])
            assert exact.value(state[[row]]) == whole.value(state[[row]])


def test_a_saved_search_repeats_no_work(tmp_path: Path) -> None:
    """Load what a search has proven, in both orientations of the board, within the size of the file."""
    env, path = shared_env("connect_four", rows=4, columns=5), tmp_path / "openings.safetensors"
    exact = te.solve(env, method="search", memory=2**24)
    start = env.init(1)
    distance = exact.distance(position(env, "113"))
    assert exact.value(start) == 0
    exact.save(path, 20_000)
    assert 16_000 < path.stat().st_size <= 20_000
    again = te.SearchSolution.load(path, 2**22)
    again_start, one, other = again.env.init(1), position(again.env, "113"), position(again.env, "553")
    assert again.value(again_start) == 0 and again.distance(one) == again.distance(other) == distance
    assert 100 * again.nodes < exact.nodes
    again.save(path)
    assert te.SearchSolution.load(path).value(again_start) == 0
    exact.save(path, 2048)  # without rows
    assert te.SearchSolution.load(path, 2**22).value(again_start) == 0
    with pytest.raises(ValueError, match="max_bytes must be in 2048"):
        exact.save(path, 100)
    with pytest.raises(FileNotFoundError, match=r"no file '.*none'"):
        te.SearchSolution.load(tmp_path / "none")
    te.solve(shared_env("tic_tac_toe")).save(path)
    with pytest.raises(ValueError, match="is a 'tensor_envs solution 1', not a 'tensor_envs search 1'"):
        te.SearchSolution.load(path)


@pytest.mark.slow
def test_published_scores_of_the_first_moves() -> None:
    """Only the middle column wins, as J. Allen and V. Allis found; the plies to the end are P. Pons's."""
    env = shared_env("connect_four")
    exact, start = te.solve(env, method="search"), env.init(1)
    assert exact.value(start) == 1 and exact.distance(start) == 41
    assert exact.best_actions(start)[0].tolist() == [column == 3 for column in range(7)]
    replies = env.step(start[np.zeros(7, np.int32)], np.arange(7))
    assert exact.value(replies).tolist() == [1, 1, 0, -1, 0, 1, 1]
    assert exact.distance(replies).tolist() == [39, 41, -1, 40, -1, 41, 39]
    assert exact.nodes < 100_000 and te.agents.perfect()(start).tolist() == [3]


class Limit:
    """Progress bar that fails once a search has entered too many positions, so that it does not run for minutes."""

    def __init__(self) -> None:
        self.positions = 0

    def update(self, count: int, close: bool = False) -> None:
        self.positions += count
        assert self.positions < 1_000_000, "the table of openings lacks this position"


def check_moves(monkeypatch: pytest.MonkeyPatch, lines: Sequence[str]) -> None:
    """Check that the perfect player of connect four needs few positions after lines of columns 1..7, equally long."""
    monkeypatch.setattr(alpha_beta, "counter", lambda *_: Limit())
    env = shared_env("connect_four")
    exact = te.solve(env, method="search")
    state = env.init(len(lines))
    for columns in zip(*lines, strict=True):
        state = env.step(state, [int(column) - 1 for column in columns])
    action, value = te.agents.perfect(exact)(state), exact.value(state)
    assert (exact.value(env.step(state, action)) == -value).all()


@pytest.mark.slow
def test_first_and_second_moves_of_the_perfect_player(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try every first and second own move from the empty board, for either seat."""
    for plies in range(4):
        check_moves(monkeypatch, ["".join(line) for line in itertools.product("1234567", repeat=plies)])


@pytest.mark.slow
def test_moves_of_the_perfect_player_after_six_plies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try random openings without a line of four."""
    choices = random.Random(0)
    lines = ["".join(choices.choices("1234567", k=6)) for _ in range(60)]
    check_moves(monkeypatch, lines)


@pytest.mark.slow
def test_a_game_that_comes_with_openings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search of such a game starts with them, and the perfect player needs no other oracle."""
    env, path = te.make("connect_four", rows=4, columns=5), tmp_path / "openings.safetensors"
    exact, start = te.solve(env, method="search", memory=2**24), env.init(1)
    best = exact.best_actions(start)
    exact.save(path, 200_000)
    assert alpha_beta.opening_table(env) is None
    monkeypatch.setattr(alpha_beta, "opening_table", lambda _: path)
    again = te.solve(env, method="search", memory=2**24)
    assert (again.best_actions(start) == best).all() and 100 * again.nodes < exact.nodes
    assert best[0, te.agents.perfect()(start).numpy()[0]]
    with pytest.raises(ValueError, match="it is of another environment than <Env connect_four-v0>"):
        te.solve(shared_env("connect_four"), method="search")


@pytest.mark.slow
def test_a_file_of_a_game_with_a_shape(tmp_path: Path) -> None:
    """A tuple among the rule fields is a list in the file."""
    env, path = te.make("hyper_tic_tac_toe", shape=(3, 3)), tmp_path / "search.safetensors"
    exact = te.solve(env, method="search", memory=2**20)
    value = exact.value(env.init(1))
    exact.save(path)
    again = te.SearchSolution.load(path, 2**20)
    assert (again.value(env.init(1)) == value).all() and again.nodes < exact.nodes


def test_a_game_of_an_interactive_session_has_no_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    env = te.make("tic_tac_toe")
    monkeypatch.delattr(sys.modules[type(env.rules).__module__], "__file__")
    assert alpha_beta.opening_table(env) is None


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("game", ("connect_four", "tic_tac_toe", "othello"))
def test_buckets_and_checks_on_the_host_are_those_of_kernels(game: str) -> None:
    env = shared_env(game)
    exact = te.solve(env, method="search", memory=2**20)
    packing, state = exact._packing, random_games(env, 4)[-1]
    words = exact._words(state.numpy(), live_rows(state))
    table = TranspositionTable(Memory(), uint32(exact._buckets), packing.count)  # type: ignore[arg-type]
    plain = [[uint32(x) for x in row] for row in words.tolist()]
    size = BUCKET * entry_words(packing.count, 0)
    assert [int(table.bucket(row).value) // size for row in plain] == bucket_numbers(words, exact._buckets).tolist()
    assert [int(table.check(row).value) for row in plain] == checks(words).tolist()
    maps = exact._maps
    assert (
        not maps.maps
        or [[int(w.value) for w in maps.canonical(row)] for row in plain] == canonical(words, maps).tolist()
    )

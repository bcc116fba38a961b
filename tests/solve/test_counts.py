"""Counts against plain Python that goes through every sequence, and what cannot be counted."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import Chance, Field, GameState, Mask, Outcome, Part, Scalar, Spec, number
from tensor_envs.solve import branches, outcomes, packed, positions
from tensor_envs.solve.branches import EDGES, padded_size
from tensor_envs.solve.packed import Array, Index, Packed, concat, groups
from tests.games.chance import game_key
from tests.games.shared import reference, shared_env
from tests.solve.pig import pig

GAMES: list[tuple[str, dict[str, Any], int]] = [
    ("shed", {"cards": 3, "max_plies": 6}, 9),  # some games end, others are cut off
    ("connect_four", {"rows": 3, "columns": 3, "k": 3}, 9),
]


def plain(game: str, config: dict[str, Any], depth: int) -> Iterator[tuple[int, int, dict[Any, int]]]:
    """Yield sequences, positions and results of every ply, by the reference engine."""
    reached = [reference(game)(game_key(0, 0, 0), **config)]
    yield 1, 1, {}
    for _ in range(depth):
        before, reached = reached, []
        for position in before:
            for action in position.legal_actions():
                after = deepcopy(position)
                after.apply(action)
                reached.append(after)
        if not reached:
            return
        results = [tuple(map(float, x.rewards)) for x in reached if x.terminated or x.truncated]
        yield len(reached), len({json.dumps(x.to_dict()) for x in reached}), Counter(results)


def test_first_states_that_take_long_are_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A game may begin with thousands of deals, such as those of Yahtzee."""
    env, listed = shared_env("tic_tac_toe"), outcomes.first_states

    def slow(rules: Any) -> Any:
        time.sleep(0.2)
        return listed(rules)

    monkeypatch.setattr(branches, "first_states", slow)
    monkeypatch.setattr(branches, "LONG_SECONDS", 0.01)
    te.perft(env, 1)
    assert capsys.readouterr().err == f"listing the first states of {env!r} ...\n"


@pytest.mark.parametrize(("game", "config", "depth"), GAMES, ids=str)
def test_counts_are_those_of_the_reference(game: str, config: dict[str, Any], depth: int) -> None:
    found = te.perft(shared_env(game, **config), depth)
    assert [(row.sequences, row.positions, row.ended) for row in found.plies] == list(plain(game, config, depth))


@pytest.mark.parametrize(
    ("env", "depth"),
    [
        *((lambda game=game, config=config: shared_env(game, **config), depth) for game, config, depth in GAMES),
        (lambda: pig(goal=4, sides=3), 4),
    ],
)
def test_played_one_by_one_sequences_are_as_many(env: Any, depth: int) -> None:
    every, each = te.perft(env(), depth), te.perft(env(), depth, unique=False)
    assert each.sequences == every.sequences and each.games == every.games
    assert [row.ended for row in each.plies] == [row.ended for row in every.plies]
    assert str(each).splitlines()[2].split()[:2] == ["1", f"{each.sequences[1]:,}"]
    with pytest.raises(ValueError, match="positions were not told apart: count with unique=True"):
        _ = each.positions


def test_parts_of_sequences_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "PARENTS", 64)  # at once, of up to 1,000 of a ply
    env = shared_env("connect_four", rows=3, columns=3, k=3)
    assert te.perft(env, unique=False).sequences == te.perft(env).sequences


def test_symmetric_positions_count_once_and_their_sequences_all() -> None:
    env = shared_env("connect_four", rows=3, columns=3, k=3)
    every, some = te.perft(env), te.perft(env, symmetry=True)
    assert some.sequences == every.sequences and some.games == every.games
    boards = [{json.dumps(board) for board in boards} for boards in mirrored(env, len(every.plies) - 1)]
    assert some.positions == [len(ply) for ply in boards] != every.positions


def mirrored(env: te.Env, depth: int) -> Iterator[list[list[list[int]]]]:
    """Yield the boards of every ply; each is the lesser of itself and its mirror image."""
    reached = {(0,) * env.rules.cells: reference("connect_four")(game_key(0, 0, 0), rows=3, columns=3, k=3)}
    for _ in range(depth + 1):
        yield [min(x.board, [row[::-1] for row in x.board]) for x in reached.values()]
        following = {}
        for position in reached.values():
            for action in position.legal_actions():
                after = deepcopy(position)
                after.apply(action)
                following[tuple(after.to_dict()["board"])] = after
        reached = following


def test_symmetries_that_move_the_start_are_left_out() -> None:
    env = shared_env("connect_four", rows=3, columns=3, k=3)
    left, middle = (env.step(env.init(1), [column]) for column in (0, 1))
    assert te.perft(left, 3, symmetry=True).positions == te.perft(left, 3).positions
    assert te.perft(middle, 3, symmetry=True).positions != te.perft(middle, 3).positions


def test_from_games_that_have_begun() -> None:
    """Count equal games twice as sequences; a limit of plies includes the plies before the start."""
    env = shared_env("shed", cards=3, max_plies=6)
    state = env.step(env.init(3), [0, 1, 0])
    found, whole = te.perft(state), te.perft(env)
    assert (found.sequences[0], found.positions[0]) == (3, 2)
    assert len(found.plies) == len(whole.plies) - 1 == 6
    with pytest.raises(ValueError, match="start must be games of one ply, got plies 0 to 1"):
        te.perft(te.concat([state[[0]], env.init(1)]))


def test_chance_counts_what_its_draws_lead_to() -> None:
    """Compare with a count by hand: a die of 3 ends the turn or makes it 2 or 3; keeping has one outcome."""
    found = te.perft(pig(goal=4, sides=3), 3)
    assert found.sequences == [1, 3, 3 + 2 * (3 + 1), 3 * 1 + 2 * (3 + 1) + 2 * (3 + 2 * 1 + 3)]


def test_hashes_that_collide_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    columns = list(rng.integers(0, 3, (5, 400)).astype(np.uint32) * 0x1234567)
    columns[2] = rng.integers(0, 2**32, 3, np.uint32)[columns[0] // 0x1234567]
    rows = Packed.of(columns)
    assert len(rows.keys) > 1
    expected = [int(x) for x in np.unique(np.stack(columns), axis=1, return_inverse=True)[1]]

    def check() -> None:
        same = groups(rows)
        pairs = set(zip(same.number.tolist(), expected, strict=True))
        assert len(pairs) == len(same.starts) == len(set(expected))
        assert (same.number[same.first] == np.arange(len(same.starts))).all()
        table = Index(rows[same.first])
        assert (table.find(columns) == same.number).all()
        others = [column ^ np.uint32(1 << 8) for column in columns]
        assert (table.find(others) == -1).all()

    check()
    monkeypatch.setattr(packed, "hashes", lambda keys: keys[0] & np.uint64(1))
    check()


def test_rows_are_packed_and_unpacked() -> None:
    rng = np.random.default_rng(2)
    parts: list[list[Array]] = [
        [rng.integers(0, high, 9, np.uint32) + low for low, high in zip(lows, (1, 200, 2**31, 7), strict=True)]
        for lows in rng.integers(0, 2**20, (6, 4), np.uint32)
    ]
    whole = concat([Packed.of(part) for part in parts])
    assert (np.stack(whole.columns()) == np.concatenate([np.stack(part) for part in parts], axis=1)).all()
    assert (np.stack(whole[[3, 50]].columns())[:, 1] == np.stack(parts[5])[:, 5]).all()


@dataclass(frozen=True)
class Wide:
    """Every one of many actions leads to the same position."""

    many: int = 64
    drawn: int = 0  # whose draws cannot be counted
    paid: int = 0  # for every action

    @property
    def spec(self) -> Spec:
        fields = (Field("x", high=self.many),)
        return Spec(1, self.many, (1,), fields, "int32", max_plies=19, chance=self.drawn > 0, zero_sum=False)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True] * self.many

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        draws: list[Any] = [
            lambda: 0,
            lambda: chance.draw(3, 2),
            lambda: chance.draw(s.ply, s.x + 2),
            lambda: chance.bits(s.ply) != 0,
            lambda: chance.draw(s.ply, 70000),
        ]
        return Outcome(s.replace(x=0 * draws[self.drawn]()), (self.paid,), False)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [number(s.x)]


def wide(**fields: int) -> te.Env:
    return te.Env(te.GameEntry("wide", f"{__name__}:Wide"), Wide(**fields), "wide")


def test_more_than_64_bits_count() -> None:
    assert te.perft(wide(), 10).sequences[-1] == 64**10
    with pytest.raises(OverflowError, match="more sequences than 64 bits count"):
        te.perft(wide(), 11)


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (1, "draws event 3 at every ply"),
        (2, r"a number of values that differs from state to state, .* write chance.draw\(event, n\) with an int n"),
        (3, "whole words of chance"),
        (4, "at most 65536 outcomes, got at least 70000"),
    ],
)
def test_chance_that_cannot_be_counted(drawn: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"start must be of a game whose chance can be counted: .*{message}"):
        te.perft(wide(many=2, drawn=drawn), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: te.perft(te.make("kuhn_poker")), "that hides nothing; <Env kuhn_poker-v0> has hidden inf"),
        (lambda: te.perft(te.make("hyper_tic_tac_toe", shape=(2,) * 12, k=2)), "can be searched"),
        (lambda: te.perft(cast(Any, "tic_tac_toe")), "start must be an Env or a State, got 'tic_tac_toe' of type str"),
        (lambda: te.perft(te.make("tic_tac_toe"), -1), r"depth must be in 0\.\.2147483647, got -1"),
        (lambda: te.perft(te.make("tic_tac_toe"), symmetry=cast(Any, 8)), "symmetry must be of type bool, got 8"),
        (lambda: te.perft(te.make("tic_tac_toe"), 2, False, True), "symmetry must be False where unique is"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_batches_are_of_few_sizes() -> None:
    """Bound the number of batch sizes: tinygrad caches freed memory by its size."""
    sizes = {padded_size(count) for count in range(1, EDGES + 1)}
    assert len(sizes) <= 24 and max(sizes) == EDGES
    assert all(count <= padded_size(count) < count + EDGES // 8 for count in range(1, EDGES + 1, 97))

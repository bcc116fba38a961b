"""Small games with what large ones hide: endless play with chance, symmetric draws, players who cannot move."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._runtime import progress
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.rules import Chance, Field, GameState, Mask, Outcome, Part, Scalar, Spec, one_hot, where
from tensor_envs.solve.enumeration import FORMAT
from tensor_envs.solve.positions import Expander

NAMES = itertools.count()


def env_of(rules: Any, **entry: Any) -> te.Env:
    name = f"small_{next(NAMES)}"
    return te.Env(te.GameEntry(name, type(rules), **entry), rules, name)


@dataclass(frozen=True)
class Trap:
    """Action 0 stays, action 1 wins by a coin or falls into a trap, which ends with a loss, sooner or later.

    Staying is worth 0 and so is the coin; of two players the second one only passes.
    """

    players: int = 1
    stays: bool = True

    @property
    def spec(self) -> Spec:
        return Spec(self.players, 2, (2,), (Field("trapped", high=1),), chance=True, zero_sum=self.players == 2)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        moves = (s.trapped == 0) & (s.current_player == 0)
        return [~moves | self.stays, moves]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        heads, risks = chance.draw(s.ply, 2) == 0, (s.trapped == 0) & (action == 1)
        loses = (s.trapped == 1) & heads
        paid = where(risks & heads, 1, where(loses, -1, 0))
        after = s.replace(trapped=where(risks, 1, s.trapped), current_player=(s.current_player + 1) % self.players)
        return Outcome(after, (paid, -paid)[: self.players], (risks & heads) | loses)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [one_hot(s.trapped, 2)]


@pytest.mark.few(1)
@pytest.mark.parametrize("players", [1, 2])
def test_waiting_does_not_hide_a_loss(players: int) -> None:
    """From draws, values would settle at 1/4 and 1/8, since a player who waits sees no end of the trap."""
    with pytest.raises(ValueError, match="in which, with chance, no player can play on for ever"):
        te.solve(env_of(Trap(players)))
    env = env_of(Trap(players, stays=False))
    assert np.allclose(te.solve(env).value(env.init(1)), 0, atol=1e-9)


@dataclass(frozen=True)
class Waiting:
    """Action 0 waits, action 1 ends the game for two points."""

    @property
    def spec(self) -> Spec:
        return Spec(1, 2, (1,), (Field("at", high=1),), zero_sum=False)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True, True]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        return Outcome(s, (where(action == 1, 2, 0),), action == 1)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [one_hot(s.at, 1)]


def test_no_line_where_best_play_may_wait_for_ever() -> None:
    env = env_of(Waiting())
    solution = te.solve(env)
    assert solution.value(env.init(1)).tolist() == [2.0]
    with pytest.raises(ValueError, match="no line of best play"):
        solution.line(env.init(1))


def test_a_path_is_checked_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tensor_envs.solve.enumeration"], "_explore", None)
    for path in (tmp_path, tmp_path / "missing" / "solution"):
        with pytest.raises(ValueError, match="path must name a file in a folder that exists, got"):
            te.solve(te.make("tic_tac_toe"), path=path)


@dataclass(frozen=True)
class Coin:
    """For two plies, a coin puts the mark on one of two cells, which are mirror images."""

    @property
    def spec(self) -> Spec:
        return Spec(1, 1, (2,), (Field("cell", high=2),), chance=True, zero_sum=False)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        return Outcome(s.replace(cell=1 + chance.draw(s.ply, 2)), (0,), s.ply == 1)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [one_hot(s.cell - 1, 2)]


def symmetries(rules: Coin) -> Iterator[te.Symmetry]:
    for order in ((0, 1), (1, 0)):
        yield te.Symmetry((0,), order, {}, {}, {"cell": (0, *(1 + k for k in order))})


def to_dict(rules: Coin, fields: dict[str, Any]) -> dict[str, Any]:
    return {"cell": fields["cell"]}


def from_dict(rules: Coin, game: dict[str, Any]) -> dict[str, Any]:
    return {"cell": game["cell"]}


def test_symmetry_merges_positions_and_not_sequences() -> None:
    env = env_of(Coin(), notation=__name__)
    plain, merged, single = te.perft(env), te.perft(env, symmetry=True), te.perft(env, unique=False)
    assert plain.sequences == merged.sequences == single.sequences == [1, 2, 4]
    assert plain.games == merged.games == {(0.0,): 4}
    assert plain.positions == [1, 2, 2] and merged.positions == [1, 1, 1]


@dataclass(frozen=True)
class Sum:
    """Add 0 or 1; whoever makes the sum 5 wins, and a second 0 in a row loses. The observation leaves out the 0."""

    @property
    def spec(self) -> Spec:
        return Spec(2, 2, (6,), (Field("sum", high=5), Field("passed", kind="bool")))

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True, True]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        lost, other = s.passed & (action == 0), 1 - s.current_player
        after = s.replace(sum=s.sum + action, passed=action == 0, current_player=other)
        return Outcome.win(after, where(lost, other, s.current_player), won=lost | (after.sum == 5))

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [one_hot(s.sum, 6)]


def test_positions_are_not_merged_without_symmetries(tmp_path: Path) -> None:
    """Games of other fields are different positions, even if their observations are equal."""
    env = te.make(f"{__name__}:Sum")
    exact = te.solve(env)
    assert exact.value(env.init(1)) == te.solve(env, symmetry=False).value(env.init(1)) == 1
    assert te.perft(env, symmetry=True).positions == te.perft(env).positions
    exact.save(tmp_path / "new")
    metadata, arrays = read_arrays(tmp_path / "new", FORMAT)
    del metadata["keys"]
    write_arrays(tmp_path / "old", FORMAT, metadata, arrays)
    with pytest.raises(ValueError, match=r"an earlier version has solved .* by its observations: solve it again"):
        te.Solution.load(tmp_path / "old")
    exact._values[:] = 0
    with pytest.raises(ValueError, match=r"wrong value of \{.*'sum': "):  # the game has no notation
        exact.verify()


@dataclass(frozen=True)
class Stuck(Waiting):
    """After one ply nobody can move, and the game is not over."""

    def legal_action_mask(self, s: GameState) -> Mask:
        return [s.at == 0, False]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        return Outcome(s.replace(at=1), (0,), False)


@pytest.mark.parametrize("count", [te.solve, te.perft, te.game_tree])
def test_whoever_is_to_move_must_be_able_to(count: Any) -> None:
    with pytest.raises(ValueError, match="start must be of a game in which whoever is to move can"):
        count(env_of(Stuck()))


def test_a_long_solution_says_how_long_it_would_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "FIRST_REPORT", 0.0)
    env = te.make("tic_tac_toe")
    te.solve(env, max_positions=1000)
    (line,) = capsys.readouterr().err.splitlines()  # the next one would come after half a minute
    numbers = re.fullmatch(
        r"solving <Env tic_tac_toe-v0[^>]*>: ([\d,]+) positions in \d+ s, ply (\d+) is (\d+)% done and grows "
        r"([\d.]+)-fold; max_positions=1,000 would take about [\d,]+ s and 0\.0 GB \.\.\.",
        line,
    )
    assert numbers is not None and int(numbers[2]) == 1 and 1 < int(numbers[1]) <= 10 and float(numbers[4]) <= 9
    te.solve(env, progress=True)
    assert "solving" not in capsys.readouterr().err.replace("solving a", "")


def test_a_bound_below_the_first_positions_needs_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels of a step compile for minutes in large games, so the bound is checked before."""
    monkeypatch.setattr(Expander, "expand", None)
    with pytest.raises(ValueError, match="max_positions must be more than 3 to hold those of <Env backgammon"):
        te.solve(te.make("backgammon"), max_positions=3)

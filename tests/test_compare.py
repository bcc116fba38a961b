"""Comparison with other engines: planted faults are found and reduced, and the reference engines agree."""

from __future__ import annotations

import json

import pytest

import tensor_envs as te
from tensor_envs.compare import first_difference
from tensor_envs.compare.__main__ import main
from tensor_envs.compare.engines import PlainPython, engine_of
from tests.games.connect_four.reference import STONES
from tests.games.connect_four.reference import Reference as ConnectFour
from tests.games.kuhn_poker.reference import Reference as KuhnPoker
from tests.games.othello.reference import Reference as Othello
from tests.games.shared import shared_env
from tests.scripts.here import run_here


class WithoutColumns(ConnectFour):
    """An engine that overlooks four stones above each other."""

    def has_line(self, player: int) -> bool:
        own = {(r, c) for r in range(6) for c in range(7) if self.board[r][c] == STONES[player]}
        ways = ((0, 1), (1, 1), (1, -1))
        return any(all((r + t * down, c + t * right) in own for t in range(4)) for r, c in own for down, right in ways)


class PassesEarly(Othello):
    """An engine in which Black may pass at any time."""

    def legal_actions(self) -> list[int]:
        return sorted({*super().legal_actions(), 64}) if not self.current_player else super().legal_actions()


class PaysNothingKnown(KuhnPoker):
    """An engine whose returns are no numbers."""

    def apply(self, action: int) -> None:
        super().apply(action)
        self.rewards = [float("nan")] * 2


class PaysDouble(KuhnPoker):
    """An engine that pays twice what a bet is worth."""

    def apply(self, action: int) -> None:
        super().apply(action)
        self.rewards = [2 * paid if self.history.count(1) else paid for paid in self.rewards]


class Breaks(ConnectFour):
    """An engine that fails when a column is full."""

    def apply(self, action: int) -> None:
        super().apply(action)
        if self.board[0][action]:
            raise RuntimeError("a full column")


def test_a_planted_fault_is_reduced_to_the_fewest_plies() -> None:
    """Four stones of a player above each other need seven plies."""
    env = shared_env("connect_four")
    found, games, plies = first_difference(env, PlainPython(WithoutColumns, 2), games=60, seconds=1)
    assert found is not None and games <= 60 and plies > len(found.actions)
    assert (found.what, found.ours, found.theirs) == ("end", "the game is over", "the game goes on")
    assert len(found.actions) == 7 and len({*found.actions[::2]}) == 1
    assert te.replay(te.record(env, found.actions)).terminated.item()
    assert found.board == env.to_string(te.replay(te.record(env, found.actions)))


@pytest.mark.slow
def test_other_faults() -> None:
    for name, engine, what, ours, theirs, plies in (
        ("othello", PassesEarly, "legal actions", "none beside those of both", "number 64", 0),
        ("connect_four", Breaks, "error", "none", "RuntimeError('a full column')", 6),
    ):
        found, *_ = first_difference(shared_env(name), PlainPython(engine, 2), games=20, seconds=3)
        assert found is not None and (found.what, found.ours, found.theirs) == (what, ours, theirs)
        assert len(found.actions) == plies
    found, *_ = first_difference(shared_env("kuhn_poker"), PlainPython(PaysDouble, 2), games=20, seconds=0.5)
    assert found is not None and found.what == "returns" and len(found.actions) == 2
    found, *_ = first_difference(shared_env("kuhn_poker"), PlainPython(PaysNothingKnown, 2), games=20, seconds=0.5)
    assert found is not None and found.what == "returns" and "nan" in found.theirs
    for wrong in ({"games": -3}, {"games": "x"}, {"seed": -1}):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            first_difference(shared_env("kuhn_poker"), PlainPython(PaysDouble, 2), **wrong)  # type: ignore[arg-type]


@pytest.mark.few("tic_tac_toe", "kuhn_poker")
@pytest.mark.parametrize("name", te.registered())
def test_the_reference_agrees(name: str) -> None:
    env = shared_env(name)
    found, games, plies = first_difference(env, engine_of("reference", env), games=2, seconds=0)
    assert found is None and games == 2 and plies


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("hyper_tic_tac_toe", "shed"):  # whose references have no default fields
        engine_of("reference", te.make(name)).begin({}, 0, 0)
    main(["kuhn_poker", "--with", "reference", "--games", "3"])
    assert capsys.readouterr().out.startswith("kuhn_poker beside reference: no difference in 3 games, ")
    arguments = ["kuhn_poker", "--with", "tests.test_compare:PaysDouble", "--games", "20", "--seconds", "0.5"]
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    out, errors = capsys.readouterr()
    assert exit.value.code == 1 and "kuhn_poker differs from tests.test_compare:PaysDouble" in errors
    lines = out.splitlines()
    assert lines[0].startswith("kuhn_poker beside tests.test_compare:PaysDouble: returns after 2 plies (the first ")
    assert lines[2] in ("moves: bet pass", "moves: bet bet")
    here, there = (json.loads(line.partition(": ")[2]) for line in lines[3:5])
    assert here[0] and there == [2 * paid for paid in here]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hex", "--with", "mctx"], "an engine must be open_spiel, pgx, envpool, reference or package.module:Class"),
        (
            ["shed", "--with", "envpool"],
            "envpool can be compared in tic_tac_toe, connect_four, othello, hex, go, chess",
        ),
        (["hex", "--with", "tests.nowhere:X"], "reference engines are in a checkout of the repository"),
        (
            ["hex", "--with", "builtins:dict"],
            "a class with legal_actions and apply, and 'builtins:dict' is <class 'dict'>",
        ),
        (["hexx", "--with", "pgx"], "unknown id 'hexx'; did you mean 'hex'"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2 and message in capsys.readouterr().err


OTHERS = [
    "tic_tac_toe",
    "connect_four",
    "othello",
    "hex",
    "go",
    "kuhn_poker",
    "leduc_poker",
    "chess",
    "nine_mens_morris",
]


@pytest.mark.extra("pyspiel")
@pytest.mark.few("tic_tac_toe", "leduc_poker")
@pytest.mark.parametrize("name", OTHERS)
def test_openspiel_agrees(name: str) -> None:
    pytest.importorskip("pyspiel")
    env = shared_env(name)
    found, *_ = first_difference(env, engine_of("open_spiel", env), games=3, seconds=0)
    assert found is None


@pytest.mark.extra("pyspiel")
def test_openspiel_plays_by_the_rules_that_are_given() -> None:
    env = te.make("hex", size=3, swap=False)
    found, *_ = first_difference(env, engine_of("open_spiel", env), games=3, seconds=0)
    assert found is None


@pytest.mark.extra("pyspiel")
def test_openspiel_leaves_out_slides_that_only_merge() -> None:
    """Its 2048 does not list a slide that moves no tile, though two equal tiles would merge."""
    pytest.importorskip("pyspiel")
    env = shared_env("2048")
    found, *_ = first_difference(env, engine_of("open_spiel", env), games=3, seconds=0)
    assert found is not None and found.what == "legal actions" and found.theirs == "none beside those of both"


def test_rules_of_a_command() -> None:
    """Both engines play by the rules that are given."""
    code, out, errors = run_here(
        main, ["hex", "--rules", "size=3", "swap=False", "--with", "reference", "--games", "2"]
    )
    assert (code, errors) == (0, "") and "hex" in out
    code, _, errors = run_here(main, ["hex", "--rules", "columns=3", "--with", "reference"])
    assert code == 2 and "'hex' has no rule field 'columns'" in errors

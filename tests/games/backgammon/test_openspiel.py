"""Comparison with OpenSpiel: its `backgammon` has the same turns, ends and payments, and names turns alike."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.compare import first_difference
from tensor_envs.compare.open_spiel import SPIEL_BAR, SpielBackgammon, open_spiel
from tensor_envs.games.backgammon.turns import Side, ends_of, turn_to_actions, turn_to_string
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

ENV = shared_env("backgammon")
Board = tuple[int, ...]


def board_of(other: Any) -> Board:
    """Return the men of both players by their pips 1..25."""
    pips = range(1, 25)
    first = [*(other.board(0, 24 - pip) for pip in pips), other.board(0, SPIEL_BAR)]
    return (*first, *(other.board(1, pip - 1) for pip in pips), other.board(1, SPIEL_BAR))


def sides_of(board: Board, player: int) -> Side:
    """Return the men of a position from a player's side."""
    both = board[:25], board[25:]
    return Side(both[player], both[1 - player])


def test_random_games_agree() -> None:
    """Every move of every legal turn has the same number in both, and ends and payments agree."""
    found, games, plies = first_difference(ENV, open_spiel(ENV), games=5, seconds=0, seed=1)
    assert found is None and games == 5 and plies > 500


@pytest.mark.slow
def test_a_thousand_random_games_agree() -> None:
    found, *_ = first_difference(ENV, open_spiel(ENV), games=1000, seconds=0, seed=2)
    assert found is None


class OverlooksHits(SpielBackgammon):
    """An engine in which no man is hit."""

    def spiel_actions(self) -> dict[tuple[int, ...], int]:
        names = {action: self.state.action_to_string(action) for action in self.state.legal_actions()}
        return {plies: action for plies, action in super().spiel_actions().items() if "*" not in names[action]}


@pytest.mark.slow
def test_a_planted_fault_is_reduced_to_the_fewest_plies() -> None:
    """A man that is alone, and then hit, needs a turn before."""
    found, *_ = first_difference(ENV, OverlooksHits(ENV), seconds=5, seed=3)
    assert found is not None and found.what == "legal actions" and found.theirs == "none beside those of both"
    assert len(found.actions) == 2
    state = te.replay(te.record(ENV, found.actions, seed=found.seed, row=found.row))
    assert {f"{name}*" for name in found.ours.split(", ")} & ENV.spellings(state).keys()


@pytest.mark.slow
def test_another_payment_is_found() -> None:
    """OpenSpiel's default pays one point for each win."""
    other = open_spiel(ENV)
    other.game = pyspiel.load_game("backgammon")
    found, *_ = first_difference(ENV, other, seconds=0)
    assert found is not None and found.what == "returns" and found.theirs in ("[1.0, -1.0]", "[-1.0, 1.0]")
    assert found.ours in ("[2.0, -2.0]", "[-2.0, 2.0]", "[3.0, -3.0]", "[-3.0, 3.0]")


@pytest.mark.slow
def test_turns_have_openspiels_names() -> None:
    """Its text of a turn, read by us, leads to its board, as our actions do, and our text has the same meaning."""
    engine, compared, hits = SpielBackgammon(ENV), 0, 0
    for seed in range(3):
        rng, other = np.random.default_rng(seed), engine.game.new_initial_state()
        while not other.is_terminal():
            if other.is_chance_node():
                other.apply_action(int(rng.choice([outcome for outcome, _ in other.chance_outcomes()])))
                continue
            player, board, actions = other.current_player(), board_of(other), other.legal_actions()
            before, faces = sides_of(board, player), re.search(r"Dice: (\d)(\d)", str(other))
            assert faces is not None
            dice = [*map(int, faces.groups())]
            if dice[0] == dice[1] and "Extra turn: 1" not in str(other):
                dice *= 2
            engine.state = other
            ours = {action: plies for plies, action in engine.spiel_actions().items()}
            assert sorted(ours) == sorted(actions)
            for action in rng.choice(actions, 3):
                child, name = other.child(int(action)), other.action_to_string(int(action)).partition(" - ")[2]
                text = name.replace("Bar", "bar").replace("Off", "off").replace("Pass", "").strip()
                text = text.replace(" (no move)", "")
                goal = sides_of(board_of(child), player)
                plies = turn_to_actions(before, dice, text)
                for moves in (plies, ours[action]):
                    after = before
                    for ply in filter(None, moves):
                        after = after.moved(*ends_of(ply))
                    assert after == goal, name
                assert turn_to_actions(before, dice, turn_to_string(before, plies)) is not None
                compared, hits = compared + 1, hits + ("*" in name)
            other.apply_action(int(rng.choice(actions)))
    assert compared > 300 and hits > 30

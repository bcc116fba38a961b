"""Comparison with OpenSpiel: its `backgammon` leads to the same boards after every turn, and ends and pays alike.

Its actions are two moves at once and a double takes two of them, so that whole turns are compared.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.backgammon.turns import Side, ends_of, turn_to_actions, turn_to_string
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

ENV = shared_env("backgammon")
BAR = 100  # a place of the other engine's
Board = tuple[int, ...]


def board_of(other: Any) -> Board:
    """Return the men of both players by their pips 1..25."""
    pips = range(1, 25)
    first = [*(other.board(0, 24 - pip) for pip in pips), other.board(0, BAR)]
    return (*first, *(other.board(1, pip - 1) for pip in pips), other.board(1, BAR))


def sides_of(board: Board, player: int) -> Side:
    """Return the men of a position from a player's side."""
    both = board[:25], board[25:]
    return Side(both[player], both[1 - player])


def padded(rows: Any) -> np.ndarray:
    """Pad a batch to whole blocks with its last game: other batch sizes would need other kernels."""
    return np.pad(np.asarray(rows), (0, -len(rows) % 64), mode="edge")


def after_turns(state: te.State, games: int) -> tuple[te.State, list[tuple[int, Board]]]:
    """Return the distinct positions after all ways to play the games' turns, with their games and boards."""
    game, player = padded(np.arange(games)), state.current_player.numpy()
    ended, found = list[te.State](), list[tuple[int, Board]]()
    while True:
        rows, actions = map(padded, np.nonzero(state.legal_action_mask.numpy()))
        state, game = ENV.step(ENV.take(state, rows), actions), game[rows]
        now = state.numpy()
        boards = now["men"].reshape(len(game), -1)
        done = (now["current_player"] != player[game]) | now["terminated"]
        _, first = np.unique(np.column_stack([game, done, boards, now["dice"]]), axis=0, return_index=True)
        if done.any():
            over = padded(first[done[first]])
            ended.append(ENV.take(state, over))
            found += zip(game[over].tolist(), map(tuple, boards[over].tolist()), strict=True)
        if done.all():
            return te.concat(ended), found
        going = padded(first[~done[first]])
        state, game = ENV.take(state, going), game[going]


def after_turn_of(other: Any) -> dict[Board, Any]:
    player = other.current_player()
    children = {board_of(child): child for child in map(other.child, other.legal_actions())}
    found = dict[Board, Any]()
    for board, child in children.items():
        if not child.is_terminal() and child.current_player() == player:  # the rest of a double
            found |= after_turn_of(child)
        else:
            found[board] = child
    return found


def thrown(other: Any, dice: list[int], player: int) -> Any:
    """Throw our dice for a player in OpenSpiel, where they must have the same probability (B2, B3)."""
    faces = [face for face, left in enumerate(dice, 1) for _ in range(left)]
    throws = {f"(roll: {low}{high})" for low, high in ((faces[0], faces[-1]), (faces[-1], faces[0]))}
    for outcome, likely in other.chance_outcomes():
        if other.action_to_string(outcome)[-len("(roll: 12)") :] in throws:
            assert likely == pytest.approx(1 / 36 if other.move_number() else 1 / 30)
            child = other.child(outcome)
            if child.current_player() == player:
                return child
    raise AssertionError(f"no throw {faces} for player {player}")


def play_in_lockstep(batch: int, seed: int) -> tuple[int, list[float]]:
    """Play random games in both engines; return the boards compared and the returns of player 0."""
    state, rng = ENV.take(ENV.init(batch, seed), padded(np.arange(batch))), np.random.default_rng(seed)
    spiel = pyspiel.load_game("backgammon(scoring_type=full_scoring)")
    others, compared, returns = [spiel.new_initial_state() for _ in range(batch)], 0, list[float]()
    while others:
        now = state.numpy()
        dice, players = (now[name][: len(others)].tolist() for name in ("dice", "current_player"))
        theirs = [after_turn_of(thrown(*about)) for about in zip(others, dice, players, strict=True)]
        ends, ours = after_turns(state, len(others))
        rows: list[dict[Board, int]] = [{} for _ in others]
        for row, (game, board) in enumerate(ours):
            rows[game][board] = row
        chosen = list[int]()
        others = []
        rewards, terminated = ends.rewards.numpy(), ends.terminated.numpy()
        for known, found in zip(rows, theirs, strict=True):
            assert known.keys() == found.keys()
            compared += len(known)
            board = sorted(known)[rng.integers(len(known))]
            row, other = known[board], found[board]
            assert terminated[row] == other.is_terminal()
            if other.is_terminal():
                assert other.returns() == rewards[row].tolist()
                returns.append(other.returns()[0])
            else:
                chosen.append(row)
                others.append(other)
        if chosen:
            state = ENV.take(ends, padded(chosen))
    return compared, returns


def test_random_games_agree() -> None:
    compared, _ = play_in_lockstep(batch=4, seed=1)
    assert compared > 5000


def test_turns_have_openspiels_names() -> None:
    """Its text of a turn, read by us, leads to its board, and ours has the same meaning."""
    spiel, compared, hits = pyspiel.load_game("backgammon"), 0, 0
    for seed in range(3):
        rng, other = np.random.default_rng(seed), spiel.new_initial_state()
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
            for action in rng.choice(actions, 3):
                child, name = other.child(int(action)), other.action_to_string(int(action)).partition(" - ")[2]
                text = name.replace("Bar", "bar").replace("Off", "off").replace("Pass", "").strip()
                text = text.replace(" (no move)", "")
                goal = sides_of(board_of(child), player)
                plies = turn_to_actions(before, dice, text)
                after = before
                for ply in filter(None, plies):
                    start, end = ends_of(ply)
                    after = after.moved(start, end)
                assert after == goal, name
                assert turn_to_actions(before, dice, turn_to_string(before, plies)) is not None
                compared, hits = compared + 1, hits + ("*" in name)
            other.apply_action(int(rng.choice(actions)))
    assert compared > 300 and hits > 30


@pytest.mark.slow
def test_a_thousand_random_games_agree() -> None:
    _, returns = play_in_lockstep(batch=1000, seed=2)
    assert {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0} == set(returns)

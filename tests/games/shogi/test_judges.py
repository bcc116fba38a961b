"""Shogi beside programs of others: Fairy-Stockfish and Pgx, ply by ply."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.shogi.board import WAYS
from tests.games.pgx import play_beside_pgx
from tests.games.shared import shared_env

FAIRY = {"shogi": "shogi", "minishogi": "minishogi", "animal_shogi": "dobutsu"}
# files and ranks of Pgx's ways in animal shogi, files to the left and ranks down
PGX_WAYS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def fairy_name(env: te.Env, name: str) -> str:
    """Return the name of a move as Fairy-Stockfish writes it: files from the left, ranks from below."""
    board = env.rules.board
    squares = [
        "abcdefghi"[board.files - int(name[k])] + str(board.ranks - "abcdefghi".index(name[k + 1])) for k in (0, 2)
        if name[k].isdigit()
    ]  # fmt: skip
    return f"{name[0]}@{squares[-1]}" if "*" in name else "".join(squares) + name[4:]


@pytest.mark.slow
@pytest.mark.extra("pyffish")
@pytest.mark.parametrize(
    ("id", "batch", "plies"), [("animal_shogi", 1000, 40), ("minishogi", 100, 120), ("shogi", 20, 150)]
)
def test_positions_agree_with_fairy_stockfish(id: str, batch: int, plies: int) -> None:
    """Legal moves and ends agree, but for the known differences.

    Fairy-Stockfish names drops of pawns that give mate, which have no answer in it; its lion on the last rank waits
    until it cannot be caught (S9); it does not end games by repetition.
    """
    engine = pytest.importorskip("pyffish")
    env = shared_env(id)
    variant = FAIRY[id]
    animal = id == "animal_shogi"
    state = env.init(batch, 5)
    positions = [engine.start_fen(variant)] * batch
    ends: Counter[str] = Counter()
    for _ in range(plies):
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        live = np.flatnonzero(~now["terminated"]).tolist()
        for row in live:
            legal = env.legal_actions(state, row)
            ours = {fairy_name(env, name) for name in legal.values()}
            theirs = {
                move.rstrip("+") if animal else move: move for move in engine.legal_moves(variant, positions[row], [])
            }
            mates = theirs.keys() - ours
            for move in mates:
                assert move.startswith("P@") and not animal, (positions[row], move)
                assert not engine.legal_moves(variant, positions[row], [move]), (positions[row], move)
            ends["pawn mates"] += len(mates)
            assert ours <= theirs.keys(), positions[row]
            move = theirs[fairy_name(env, legal[actions[row]])]
            positions[row] = engine.get_fen(variant, positions[row], [move])
        state = env.step(state, actions)
        after = state.numpy()
        for row in live:
            over = engine.is_immediate_game_end(variant, positions[row], [])[0]
            over = over or not engine.legal_moves(variant, positions[row], [])
            repeated = after["repeats"][row] == env.rules.fold - 1
            if not after["terminated"][row]:
                assert not over, positions[row]
            elif over:
                ends["both"] += 1
            elif repeated:
                ends["repeated"] += 1
            else:  # the player to move has a lion on the last rank
                side = after["current_player"][row]
                goal = positions[row].split("/")[3 if side else 0].split()[0].split("[")[0]
                assert animal and "Ll"[side] in goal, positions[row]
                ends["lion"] += 1
    assert ends["both"] > (0 if id == "shogi" else batch // 4), ends
    assert bool(ends["lion"]) == animal, ends
    if id != "shogi":  # too rare there for so few games
        assert (ends["pawn mates"] > 0) == (not animal), ends


@pytest.mark.slow
@pytest.mark.extra("jax", "pgx")
def test_a_thousand_games_of_shogi_agree_with_pgx() -> None:
    """Pgx has no repetition, and overlooks some pawns that give mate to a king beside a corner (S7)."""

    def differs(now: dict[str, Any], other: Any, row: int) -> str:
        if now["repeats"][row] == 3:
            return "repetition"
        if now["terminated"][row]:
            return ""
        more = np.flatnonzero(np.asarray(other.legal_action_mask[row]) != now["legal_action_mask"][row])
        kings = now["other"][row] & np.bitwise_and.reduce(now["pieces"][row][:3])
        # The drop is before a king on 2a or 1b, as the player sees the board.
        places = {1: 2, 9: 10}
        mate = len(more) == 1 and any(kings[0] >> king & 1 and more[0] == 1620 + end for king, end in places.items())
        return "pawn mate" if mate and not now["legal_action_mask"][row][more[0]] else ""

    ends = play_beside_pgx(shared_env("shogi"), "shogi", batch=1000, seed=3, differs=differs, plies=512)
    assert ends["won"] > 500 and ends.keys() <= {"won", "plies", "repetition", "pawn mate"}, ends
    assert ends["repetition"] + ends["pawn mate"] < 20, ends


def pgx_action(action: int) -> int:
    """Return Pgx's number of an action of animal shogi: its way and the square where it starts."""
    way, end = divmod(action, 12)
    if way >= 8:
        return action
    files, ranks = WAYS[way]
    return PGX_WAYS.index((files, ranks)) * 12 + end - 4 * files - ranks


@pytest.mark.slow
@pytest.mark.extra("jax", "pgx")
def test_a_thousand_games_of_animal_shogi_agree_with_pgx() -> None:
    """Pgx plays the moves after which the lion cannot be caught (S9); its test of repetition is not compared."""
    jax = pytest.importorskip("jax")
    game = pytest.importorskip("pgx").make("animal_shogi")
    env = shared_env("animal_shogi")
    batch = 1000
    other = jax.vmap(game.init)(jax.random.split(jax.random.PRNGKey(0), batch))
    step = jax.jit(jax.vmap(game.step))
    first = np.asarray(other.current_player)
    state = env.init(batch, 7)
    random = np.random.default_rng(7)
    ends: Counter[str] = Counter()
    live = np.ones(batch, bool)
    for _ in range(257):
        mask = state.numpy()["legal_action_mask"]
        over = np.asarray(other.terminated)
        paid = np.asarray(other.rewards)
        allowed = np.asarray(other.legal_action_mask)
        now = state.numpy()
        actions = np.zeros(batch, np.int32)
        playing = np.flatnonzero(live).tolist()
        rows = [(row, action) for row in playing for action in np.flatnonzero(mask[row]).tolist()]
        safe = dict.fromkeys(playing, frozenset[int]())
        for (k, action), is_safe in zip(rows, after_which_safe(env, state, rows), strict=True):
            if is_safe:
                safe[k] |= {action}
        for row in playing:
            ours = now["rewards"][row]
            if now["terminated"][row]:
                ends["lion" if ours.any() else "repeated"] += 1
                assert not ours.any() or (over[row] and (ours == paid[row][[first[row], 1 - first[row]]]).all())
                live[row] = False
            elif over[row]:
                # mate, or another end by repetition or plies
                lost = paid[row][[first[row], 1 - first[row]]][now["current_player"][row]] == -1
                assert lost == (not safe[row]), env.state_to_dict(state, row)
                ends["mate" if lost else "other"] += 1
                live[row] = False
            else:
                moves = {pgx_action(action): action for action in safe[row]}
                assert sorted(moves) == np.flatnonzero(allowed[row]).tolist(), env.state_to_dict(state, row)
                actions[row] = moves[int(random.choice(sorted(moves)))]
        if not live.any():
            break
        state = env.step(state, np.where(live, actions, np.where(now["terminated"], 0, mask.argmax(1))))
        other = step(other, np.array([pgx_action(a) if live[row] else 0 for row, a in enumerate(actions.tolist())]))
    assert not live.any()
    assert ends["mate"] > 500 and ends["lion"] > 50, ends


def after_which_safe(env: te.Env, state: te.State, rows: list[tuple[int, int]]) -> list[bool]:
    """Return whether the lion cannot be caught after each action of a row."""
    if not rows:
        return []
    after = env.step(env.take(state, [row for row, _ in rows]), np.array([action for _, action in rows], np.int32))
    now = after.numpy()
    safe = list[bool]()
    for k in range(len(rows)):
        # The lion is the kind 3; the moves of the player to move end where it stands.
        lion = int(now["other"][k][0] & now["pieces"][k][0][0] & now["pieces"][k][1][0])
        reached = {int(action) % 12 for action in np.flatnonzero(now["legal_action_mask"][k]) if action < 96}
        ended = bool(now["terminated"][k]) and bool(now["rewards"][k].any())
        safe.append(ended or not any(lion >> cell & 1 for cell in reached))
    return safe

"""Shogi: games in which positions recur, with captures, drops and checks between, beside the reference."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.conftest import start_reference, start_rules
from tests.games.shared import shared_env
from tests.games.shogi.reference import Reference
from tests.games.shogi.test_rulebook import Start, play

GAME = "shogi"
# little is left, so that checks follow on checks
ENDGAMES = {
    9: ["4k4/9/9/9/9/9/9/9/R3K4 b rb2g 1", "3gk4/9/9/5R3/9/9/9/9/4K3r b BGSbgs 1", "k8/9/9/9/9/9/9/9/8K b RBrb 1"],
    5: ["rbsgk/4p/5/P4/KGSBR b - 1", "4k/5/5/5/R3K b rBb 1", "2k2/5/1R1r1/5/2K2 b BGbg 1"],
    3: ["gle/1c1/1C1/ELG b - 1", "1l1/3/3/1L1 b GECgec 1", "gl1/3/3/1LG b ECec 1"],
}


def wanted(game: Reference, random: np.random.Generator) -> int:
    """Return an action: most often one that takes back the player's last move, or else a check, or any."""
    moves = game.legal_moves()
    player = game.current_player

    def own(board: dict[Any, str]) -> set[tuple[Any, str]]:
        return {(square, piece) for square, piece in board.items() if game.owner(piece) == player}

    before = own(dict(game.past[-3][0][0])) if len(game.past) > 2 else set()
    back = [move for move in moves if own(game.after(game.board, move, player)) == before]
    checks = [move for move in moves if game.attacked(game.after(game.board, move, player), 1 - player)]
    chosen = [some for some in (back, checks) if some and random.random() < 0.8]
    return int(random.choice(sorted(map(game.number_of, chosen[0] if chosen else moves))))


def describe(game: Reference) -> str:
    """Return how a game has ended."""
    if game.truncated:
        return "plies"
    first = game.occurrences()[0]
    if len(game.occurrences()) < (3 if game.animal else 4):
        return "other"
    since = game.past[first + 1 :]
    perpetual = any(all(check for _, mover, check in since if mover == who) for who in range(2))
    sizes = {len(board) for (board, *_), *_ in game.past[first:]}
    return ("perpetual check" if perpetual and not game.animal else "repetition") + " with captures" * (len(sizes) > 1)


# positions, and moves after which each comes again, each player having captured a piece and dropped one
CYCLES = {
    9: ("g3k4/9/9/9/9/9/9/8R/4K4 b P 1", "P*9b 9a9b 1h1g P*1h 1g1h 9b9a"),
    3: ("gl1/3/3/1LG b C 1", "C*3b 3a3b 1d1c C*1d 1c1d 3b3a"),
}


@pytest.mark.parametrize("files", CYCLES)
def test_positions_recur_after_captures_and_drops(start: Start, files: int) -> None:
    sfen, cycle = CYCLES[files]
    game = start(GAME, {"sfen": sfen}, files=files)
    for _ in range(2 if files == 3 else 3):
        assert not game.terminated
        play(game, cycle, files)
    assert game.terminated and game.rewards == [0, 0]


def test_equal_boards_with_other_hands_are_other_positions(start: Start) -> None:
    """White has taken two chicks that Black has dropped: all pieces stand as before."""
    game = start(GAME, {"sfen": "gl1/3/3/1LG b 2C 1"}, files=3)
    play(game, "C*3b 3a3b 1d1c 3b3a C*3b 3a3b 1c1d 3b3a", 3)
    assert game.to_dict()["sfen"] == "gl1/3/3/1LG b 2c 9"
    assert [plane[0][0] for plane in game.observation(0)[-4:-1]] == [1, 0, 0]


def test_promoted_pieces_are_other_pieces(start: Start) -> None:
    """The dragon has been a rook: its squares and all others are as before."""
    game = start(GAME, {"sfen": "4k/1R3/5/5/K4 b - 1"}, files=5)
    play(game, "4b4a+ 1a1b 4a4b 1b1a", 5)
    assert game.to_dict()["sfen"] == "4k/1+R3/5/5/K4 b - 5"
    assert [plane[0][0] for plane in game.observation(0)[-5:-1]] == [1, 0, 0, 0]


@pytest.mark.parametrize(("files", "games", "plies"), [(3, 3, 40), (5, 2, 30)])
def test_positions_recur_as_in_the_reference(files: int, games: int, plies: int) -> None:
    """Play in plain Python; the log of plies is read back from its dictionary."""
    env = shared_env(GAME, files=files)
    recurred = 0
    for row in range(games):
        start = {"sfen": ENDGAMES[files][row]}
        ours = start_rules(GAME, start, files=files)
        theirs = start_reference(GAME, start, files=files)
        random = np.random.default_rng(row)
        for ply in range(plies):
            action = wanted(theirs, random)
            ours.apply(action)
            theirs.apply(action)
            assert ours.terminated == theirs.terminated and ours.rewards == theirs.rewards, (row, ply)
            recurred += len(theirs.occurrences()) > 1
            fields = ours.plain.fields()
            assert fields["repeats"] == min(len(theirs.occurrences()), env.rules.fold) - 1, (row, ply)
            if ours.terminated:
                break
        read = te.debug(env, 0, game=ours.to_dict()).fields()
        assert all(read[field.name] == fields[field.name] for field in env.spec.fields), row
    assert recurred > games


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "window", "batch"), [(3, 64, 200), (3, 9, 60), (5, 64, 60), (5, 150, 30), (9, 64, 30)]
)
def test_repetitions_agree_with_the_reference(files: int, window: int, batch: int) -> None:
    """A window of 150 plies has logs of several words."""
    config: dict[str, Any] = {"files": files, "window": window}
    env = shared_env(GAME, **config)
    random = np.random.default_rng(8)
    starts = [ENDGAMES[files][row % 3] for row in range(batch)]
    games = [Reference.from_dict({"sfen": sfen}, game_key(0, 0, 0), **config) for sfen in starts]
    state = env.state_from_dicts(starts)
    live = set(range(batch))
    ends: Counter[str] = Counter()
    for _ in range(200):
        actions = state.numpy()["legal_action_mask"].argmax(1).astype(np.int32)
        for row in live:
            actions[row] = wanted(games[row], random)
        state = env.step(state, actions)
        now = state.numpy()
        for row in sorted(live):
            game = games[row]
            game.apply(int(actions[row]))
            where = f"row {row}, ply {game.ply}"
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == game.legal_actions(), where
            assert now["terminated"][row] == game.terminated, where
            assert now["rewards"][row].tolist() == game.rewards, where
            assert now["repeats"][row] == min(len(game.occurrences()) - 1, env.rules.fold - 1), where
            if game.terminated or game.ply % 50 == 0:
                written = env.state_to_dict(state, row)
                assert written | game.to_dict() == written, where
                again = env.state_from_dicts([written]).numpy()
                for field in env.spec.fields:
                    assert (again[field.name][0] == now[field.name][row]).all(), (where, field.name)
            if game.terminated or game.truncated:
                ends[describe(game)] += 1
                live.remove(row)
    print(ends)
    assert ends["repetition"] + ends["repetition with captures"] > batch // 10, ends
    if files != 3 and window >= 64:
        assert ends["perpetual check"] > 0, ends

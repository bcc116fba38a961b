"""Crowded positions that games seldom reach, played on by both engines."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tensor_envs.games.three_will.notation import to_dict
from tests.games.chance import game_key
from tests.games.shared import shared_env
from tests.games.three_will.position import CHALLENGE, EXAMINE, FMOVE, FREE, MOVE, Position, position
from tests.games.three_will.reference import CHART, Reference

ROWS = [0, 0, 0, 1, 1, 3, 4, 6, 6, 7, 7, 7]  # mostly the bases and the rows before them


def random_position(rng: np.random.Generator, config: dict[str, Any]) -> Position:
    """Return sixteen agents on eight or more squares, at most two on each, with any phase, cards and numbers."""
    cells = [8 * row + column for row in sorted(set(ROWS)) for column in range(8)]
    weights = np.array([ROWS.count(cell // 8) for cell in cells], dtype=float)
    squares = rng.choice(cells, rng.integers(8, 17), replace=False, p=weights / weights.sum())
    places = np.concatenate([squares, rng.permutation(squares)[: 16 - len(squares)]])
    pos, lvl = [0] * 16, [0] * 16
    for agent, i in enumerate(rng.permutation(16)):
        pos[agent], lvl[agent] = int(places[i]), int(i >= len(squares))
    phase = int(rng.choice([MOVE, MOVE, FREE, FMOVE, FMOVE, CHALLENGE]))
    player, cards = int(rng.integers(2)), rng.multinomial(8, [0.25] * 4)
    dr, free = cards[:2].tolist(), cards[2:].tolist()
    if phase == FREE and not free[player]:
        phase = MOVE
    challenge = phase == CHALLENGE
    state = position(
        pos=pos,
        lvl=lvl,
        ids=[*(1 + rng.permutation(8)).tolist(), *(1 + rng.permutation(8)).tolist()],
        ces=int(rng.integers(9)),
        dr=dr,
        free=free,
        die=int(rng.integers(1, 7)),
        phase=phase,
        player=player,
        t=int(rng.integers(500)),
        turns=int(rng.choice([0, 300, 598, 599])),
        challenge_left=1 if challenge else int(rng.integers(2)),
        declarer=1 - player if challenge else -1,
        turn_owner=int(rng.integers(2)) if challenge else -1,
        after=int(rng.choice([-1, 1])) if challenge and free[0] and free[1] else -1,
    )
    game = Reference.from_dict(state, (0, 0), **config)
    game.settle()
    if challenge and (context := game.context()):
        find_swapped(game, int(rng.choice(context)))
    return game.to_dict()


def find_swapped(game: Reference, agent: int) -> None:
    """Let the top card name the agent; an opponent on its square becomes its double."""
    game.ces = game.ids[agent]
    beside = [b for b in game.stack(game.pos[agent]) if b // 8 != agent // 8]
    if beside:
        old = game.ids.index(game.ces, 8 * (beside[0] // 8))
        game.ids[old], game.ids[beside[0]] = game.ids[beside[0]], game.ces


def choose(rng: np.random.Generator, game: Reference) -> int:
    """Return a legal action, 0 if there is none; half the time, a challenge examines the swapped agent."""
    legal = game.legal_actions()
    if game.phase == CHALLENGE and rng.integers(2):
        ids = game.ids[8 * game.declarer :]
        legal = [a for a in legal if a >= EXAMINE and ids[a - EXAMINE] == game.ces] or legal
    return int(rng.choice(legal)) if legal else 0


def play_on(games: int, plies: int, seed: int, config: dict[str, Any]) -> Counter[str]:
    """Play on, and count changes of phase and swapped pairs on one square."""
    rng, env = np.random.default_rng(seed), shared_env("three_will", **config)
    rules: Any = env.rules
    positions = [random_position(rng, config) for _ in range(games)]
    plain = [Reference.from_dict(d, game_key(seed, row, 0), **config) for row, d in enumerate(positions)]
    state, met = env.state_from_dicts(positions, seed), Counter[str]()
    for ply in range(plies):
        masks = state.numpy()["legal_action_mask"]
        for row, game in enumerate(plain):
            assert np.flatnonzero(masks[row]).tolist() == game.legal_actions(), (ply, row, game.to_dict())
        actions = [choose(rng, game) for game in plain]
        before = [game.to_dict() for game in plain]
        for game, action in zip(plain, actions, strict=True):
            if game.legal_actions():
                game.apply(action)
        state = env.step(state, actions)
        columns = {name: column.tolist() for name, column in state.numpy().items()}
        for row, game in enumerate(plain):
            values = {name: column[row] for name, column in columns.items()}
            after = to_dict(rules, values)
            assert after == game.to_dict(), (ply, row, actions[row], before[row])
            met[f"{before[row]['phase']}-{after['phase']}"] += 1
            met["swapped"] += before[row]["phase"] == CHALLENGE and before[row]["pos"] != after["pos"]
    return met


RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "held": {"held_under_locked": "held", "challenge_ends_turn": False},
    "others": {"chart": CHART[::-1], "leap_diagonals": False, "loan": False, "fail_ends_turn": False},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("config", RULES.values(), ids=RULES)
def test_crowded_positions(config: dict[str, Any]) -> None:
    met = play_on(games=400, plies=3, seed=3, config=config)
    for change in ("0-0", "0-1", "0-3", "0-4", "1-2", "2-0", "2-1", "2-3", "2-4", "3-4", "swapped"):
        assert met[change] > 0, change


@pytest.mark.slow
@pytest.mark.parametrize("config", RULES.values(), ids=RULES)
@pytest.mark.parametrize("supplementary", [True, False])
def test_many_crowded_positions(config: dict[str, Any], supplementary: bool) -> None:
    for seed in range(10):
        play_on(games=2000, plies=5, seed=seed, config=config | {"supplementary": supplementary})

"""Reference engine of Three Will: random games, invariants, symmetry, statistics."""

from collections import Counter
from copy import deepcopy
from itertools import count
from math import sqrt
from statistics import mean, stdev
from typing import Any

import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.three_will.reference import (
    ATTEMPT,
    CHALLENGE,
    CHART,
    FMOVE,
    FREE,
    LEAP,
    MOVE,
    OVER,
    PASS,
    STEP,
    USE_FREE,
    Reference,
)

SEED = 4
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "attempts fail softly": {"fail_ends_turn": False},
    "held under locked": {"held_under_locked": "held"},
    "no challenge": {"challenge": False},
    "no loans": {"loan": False},
    "turn resumes": {"challenge_ends_turn": False, "first_player": 1, "supplementary": False},
    "straight leaps": {"leap_diagonals": False, "ids_visible": True, "to_win": 5},
    "few cards": {"cards_each": 1, "cards_total": 5, "max_turns": 60},
    "other chart": {"chart": CHART[::-1], "first_player": 0},
}


def play_checked(row: int, config: dict[str, Any]) -> Reference:
    """Play a game of the uniform policy; check every state, and repeat each step from its dictionary."""
    game = Reference(game_key(SEED, row, 0), **config)
    policy, challenges, returns = policy_key(SEED, row), 0, [0.0, 0.0]
    game.check(None)
    for decision in count():
        legal = game.legal_actions()
        if not legal:
            break
        assert legal == sorted(set(legal)) and set(legal) <= set(range(game.num_actions))
        challenges += game.phase == CHALLENGE
        before, restored = deepcopy(game), Reference.from_dict(game.to_dict(), game.key, **config)
        action = uniform_action(policy, decision, legal)
        game.apply(action)
        restored.apply(action)
        game.check(before)
        assert restored.to_dict() == game.to_dict()
        returns = [total + reward for total, reward in zip(returns, game.rewards, strict=True)]
        assert game.t == decision + 1  # the chance counter
    assert challenges <= (1 if game.config.challenge else 0)
    assert game.terminated != game.truncated
    assert returns == ([0.0, 0.0] if game.truncated else [1.0 - 2.0 * game.winner, 2.0 * game.winner - 1.0])  # I14
    assert game.truncated == (game.turns == game.config.max_turns)
    return game


@pytest.mark.few(1)
@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_random_games_keep_the_invariants(config: dict[str, Any]) -> None:
    for row in range(2):
        play_checked(row, config)


@pytest.mark.slow
@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_many_random_games_keep_the_invariants(config: dict[str, Any]) -> None:
    for row in range(2, 22):
        play_checked(row, config)


def test_capped_games_are_truncated() -> None:
    assert play_checked(0, {"max_turns": 20}).truncated


def mirrored(state: dict[str, Any]) -> dict[str, Any]:
    """Return the position after a half turn of the board with exchanged colours."""
    swapped = {name: state[name][8:] + state[name][:8] for name in ("pos", "lvl", "ids")}
    swapped["pos"] = [63 - cell for cell in swapped["pos"]]
    swapped |= {name: state[name][::-1] for name in ("dr", "free")}
    sides = ("player", "declarer", "turn_owner", "winner")
    return state | swapped | {name: 1 - state[name] if state[name] >= 0 else -1 for name in sides}


@pytest.mark.parametrize("row", range(4))
def test_mirrored_game(row: int) -> None:
    """Check that the same dice and actions from the mirrored position give the mirrored game (I12)."""
    game = Reference(game_key(SEED, row, 0))
    twin = Reference.from_dict(mirrored(game.to_dict()), game.key)
    for decision in count():
        legal = game.legal_actions()
        assert twin.to_dict() == mirrored(game.to_dict())
        assert twin.legal_actions() == legal
        assert [twin.observation(p) for p in (1, 0)] == [game.observation(p) for p in (0, 1)]
        assert twin.rewards == game.rewards[::-1]
        if not legal:
            break
        action = uniform_action(policy_key(SEED, row), decision, legal)
        game.apply(action)
        twin.apply(action)


def test_refusals() -> None:
    game = Reference(game_key(SEED, 0, 0))
    for action in sorted({-1, game.num_actions, USE_FREE} | set(range(34)) - set(game.legal_actions())):
        unchanged = game.to_dict()
        with pytest.raises(ValueError, match="illegal action"):
            game.apply(action)
        assert game.to_dict() == unchanged
    over = play_checked(0, {"max_turns": 1})
    with pytest.raises(ValueError, match="illegal action 24"):
        over.apply(PASS)
    with pytest.raises(ValueError, match="held_under_locked: 'maybe'"):
        Reference(game_key(SEED, 0, 0), held_under_locked="maybe")
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrap'"):
        Reference(game_key(SEED, 0, 0), wrap=True)


def tampered(game: Reference, **changes: dict[int, int] | int) -> Reference:
    """Return a copy in which fields, or elements of fields, are replaced."""
    state = game.to_dict()
    for name, change in changes.items():
        if isinstance(change, dict):
            for index, value in change.items():
                state[name][index] = value
        else:
            state[name] = change
    return Reference.from_dict(state, game.key)


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        ("I1", {"pos": {0: 9}}),
        ("I1", {"lvl": {0: 1}}),
        ("I2", {"pos": {0: 59, 12: 59}, "lvl": {12: 1}}),
        ("I3", {"dr": {0: 5}}),
        ("I5", {"phase": OVER}),
        ("I5", {"winner": 0}),
        ("I5", {"phase": OVER, "winner": 0}),
        ("I6", {"pos": {0: 56, 1: 57, 2: 58}}),
        ("I8", {"phase": FREE}),
        ("I8", {"phase": CHALLENGE, "declarer": 0}),
        ("I11", {"ids": {0: 9}}),
    ],
)
def test_check_of_a_state_can_fail(number: str, changes: dict[str, Any]) -> None:
    game = Reference(game_key(SEED, 0, 0))
    with pytest.raises(AssertionError, match=rf"^{number}\b"):
        tampered(game, **changes).check(None)


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        ("I3", {"dr": {1: 3}}),
        ("I3", {"free": {0: 1}, "dr": {0: 3}}),
        ("I3", {"dr": {0: 2}, "free": {0: 2}}),
        ("I4", {"pos": {3: 56}}),
        ("I9", {"pos": {4: 30, 5: 31, 6: 29}}),
        ("I10", {"pos": {3: 12}, "lvl": {4: 1}}),
        ("I11", {"ces": 9}),
        ("I14", {"turns": 5}),
    ],
)
def test_check_of_a_step_can_fail(number: str, changes: dict[str, Any]) -> None:
    """Check a lawful step against a state that cannot precede it."""
    game = Reference(game_key(SEED, 0, 0))
    game = tampered(game, die=1, player=0)
    before = deepcopy(game)
    game.apply(0)
    game.check(before)
    with pytest.raises(AssertionError, match=rf"^{number}\b"):
        game.check(tampered(before, **changes))


def counted_game(row: int, config: dict[str, Any]) -> Counter[str]:
    """Play a game of the uniform policy and count each kind of event."""
    game, policy = Reference(game_key(SEED, row, 1), **config), policy_key(SEED, row)
    seen: Counter[str] = Counter(starter=game.player)
    while legal := game.legal_actions():
        action = uniform_action(policy, seen["steps"], legal)
        before = deepcopy(game)
        seen["steps"] += 1
        seen["legal actions"] += len(legal)
        game.apply(action)
        moved = [a for a in range(16) if game.pos[a] != before.pos[a]]
        kind = before.operations()[action][0] if before.phase in (MOVE, FMOVE) and action != PASS else ""
        free = "free " if before.phase == FMOVE else ""
        if kind == STEP:
            seen[f"{free}step"] += 1
            seen["drag"] += len(moved) == 2
        elif kind == ATTEMPT:
            seen[f"{free}attempt"] += 1
            seen["loan"] += game.dr == before.dr
            seen["double"] += bool(moved)
            seen["ejection"] += len(moved) == 2
        elif kind == LEAP:
            seen["leap"] += 1
        elif before.phase == CHALLENGE:
            swapped = bool(moved)
            seen["declined"] += action == PASS
            seen["challenge lost"] += action != PASS and not swapped
            seen["challenge won"] += swapped
            seen["resumed"] += swapped and game.winner < 0
        elif before.phase == FREE:
            seen["used" if action == USE_FREE else "kept"] += 1
        else:
            seen[f"{free}pass"] += 1
    seen["turns"], seen["truncated"] = game.turns, int(game.truncated)
    seen["white"], seen["starter wins"] = int(game.winner == 0), int(game.winner == seen["starter"])
    return seen


# Means per game, from the rules file: over 2000 games by default, over 200 in a variant. Steps, attempts and
# passes of free operations are counted apart from the ordinary ones.
DEFAULT_MEANS = {
    "turns": 146.3,
    "steps": 231.4,
    "white": 0.491,
    "starter wins": 0.497,
    "truncated": 0,
    "step": 116.1,
    "attempt": 31.4,
    "free attempt": 5.3,
    "double": 6.18,
    "loan": 29.3,
    "used": 27.9,
    "kept": 28.0,
    "free step": 19.8,
    "leap": 2.15,
    "pass": 0.20,
    "free pass": 0.009,
    "drag": 20.8 + 7.9,
    "ejection": 1.14,
    "challenge lost": 0.67,
    "challenge won": 0.085,
    "declined": 0.24,
    "resumed": 0.066,
}
VARIANT_MEANS = [
    ({"fail_ends_turn": False}, {"turns": 105.8, "steps": 234.5, "white": 0.480, "starter wins": 0.525}, 5.92),
    ({"held_under_locked": "held"}, {"turns": 140.5, "steps": 221.2, "white": 0.540, "starter wins": 0.525}, 6.27),
    ({"challenge": False}, {"turns": 144.5, "steps": 227.2, "white": 0.560, "starter wins": 0.505}, 6.28),
    ({"loan": False}, {"turns": 149.5, "steps": 151.5, "white": 0.515, "starter wins": 0.550}, 6.76),
]


def assert_statistics(
    config: dict[str, Any], means: dict[str, float], legal_actions: float, recorded: int, games: int
) -> None:
    """Assert that each mean is within four standard errors, of the recorded games and of these together."""
    played = [counted_game(row, config) for row in range(games)]
    for event, expected in means.items():
        values = [seen[event] for seen in played]
        rounding = 0.005 * expected
        error = 4 * stdev(values) * sqrt(1 / games + 1 / recorded) + rounding
        assert mean(values) == pytest.approx(expected, rel=0, abs=error), event
    ratio = sum(seen["legal actions"] for seen in played) / sum(seen["steps"] for seen in played)
    assert ratio == pytest.approx(legal_actions, rel=0.03)


@pytest.mark.slow
def test_statistics_default() -> None:
    assert_statistics({}, DEFAULT_MEANS, 6.23, recorded=2000, games=500)


@pytest.mark.slow
@pytest.mark.parametrize(("config", "means", "legal_actions"), VARIANT_MEANS)
def test_statistics_of_variants(config: dict[str, Any], means: dict[str, float], legal_actions: float) -> None:
    assert_statistics(config, means, legal_actions, recorded=200, games=200)

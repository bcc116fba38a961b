"""Search for the first difference between two engines, and its reduction to few plies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from tensor_envs._validate import instance, integer
from tensor_envs.compare.protocol import OtherEngine
from tensor_envs.envs.env import SEED_ROWS, Env
from tensor_envs.envs.state import State

MAX_PLIES = 2000  # longest game
MAX_LISTED = 8  # legal actions that the report of a difference names


@dataclass(frozen=True)
class Difference:
    """The first difference between two engines in a game.

    Attributes:
        what: "legal actions", "player to move", "end", "returns", or "error" where the other engine raises one.
        ours, theirs: the values that differ.
        actions: the actions until then.
        seed, row: the game's chance, as in `Env.init`.
        board, other_board: the position as text in both engines.
    """

    what: str
    ours: str
    theirs: str
    actions: tuple[int, ...]
    seed: int
    row: int
    board: str
    other_board: str


def first_difference(
    env: Env, other: OtherEngine, games: int = 20, seconds: float = 30, seed: int = 0
) -> tuple[Difference | None, int, int]:
    """Play random games in two engines side by side, and reduce the first difference to few plies.

    Args:
        env: the game.
        other: the other engine.
        games: how many games to play without a difference.
        seconds: for the reduction: actions are left out, and shorter random games are played.
        seed: seed of the games' chance and of the choice of actions; game r is row r.

    Returns:
        The shortest difference or None; the numbers of games and plies until the first one.
    """
    instance("env", env, Env)
    random = Random(integer("seed", seed, 0, 2**63 - 1))
    plies = 0
    for row in range(integer("games", games, 1, SEED_ROWS - 1)):
        difference, actions = play(env, other, seed, row, lambda _, legal: random.choice(legal))
        plies += len(actions)
        if difference is not None:
            return shortest(env, other, difference, seconds, random), row + 1, plies
    return None, games, plies


def shortest(env: Env, other: OtherEngine, best: Difference, seconds: float, random: Random) -> Difference:
    """Return a difference of the same kind after fewer plies, or the one that was found."""
    end = time.monotonic() + seconds

    def tried(actions: Sequence[int]) -> Difference | None:
        """Return the difference found in a game of these actions; None if one is illegal or the kind is another."""

        def choose(ply: int, legal: list[int]) -> int | None:
            return actions[ply] if ply < len(actions) and actions[ply] in legal else None

        difference, _ = play(env, other, best.seed, best.row, choose)
        return difference if difference is not None and difference.what == best.what else None

    # Drop runs of actions, first halves, then ever shorter runs, as delta debugging does.
    size = max(1, len(best.actions) // 2)
    while size and time.monotonic() < end:
        start = 0
        before = len(best.actions)
        while start + size <= len(best.actions) and time.monotonic() < end:
            shorter = tried(best.actions[:start] + best.actions[start + size :])
            if shorter is None:
                start += 1 if size <= 2 else size
            else:
                best = shorter
        # A pass that dropped something is repeated, since it may have made more runs superfluous.
        size = size // 2 if len(best.actions) == before else min(size, len(best.actions))
    # Runs cannot shorten games of chance, so the time that is left goes to random continuations.
    while best.actions and time.monotonic() < end:
        # half of the games follow the shortest one to some ply; the others may have other dice
        shared = random.randrange(len(best.actions)) if random.random() < 0.5 else 0
        row = best.row if shared else random.randrange(SEED_ROWS)
        difference, _ = play(env, other, best.seed, row, _after(best.actions, shared, random))
        if difference is not None and difference.what == best.what and len(difference.actions) < len(best.actions):
            best = difference
    return best


def _after(actions: Sequence[int], shared: int, random: Random) -> Callable[[int, list[int]], int | None]:
    """Return a function that plays the first `shared` actions of a game, then random ones, and ends a ply before it."""

    def choose(ply: int, legal: list[int]) -> int | None:
        if ply >= len(actions) - 1:
            return None
        return actions[ply] if ply < shared and actions[ply] in legal else random.choice(legal)

    return choose


def play(
    env: Env, other: OtherEngine, seed: int, row: int, choose: Callable[[int, list[int]], int | None]
) -> tuple[Difference | None, list[int]]:
    """Play one game in two engines.

    Args:
        env, other: the engines.
        seed, row: the game's chance.
        choose: a function of the ply and the actions that are legal in both; None ends the game.

    Returns:
        The first difference, None if there is none, and the actions.
    """
    state = env.init(1, seed, first_row=row)
    returns = [0.0] * env.num_players
    actions = list[int]()
    fields = env.row(state, 0)
    difference = Difference("error", "none", "", (), seed, row, "", "")
    try:
        other.begin(fields, seed, row)
        while True:
            values = _compared(env, state, fields, returns, other)
            if values is not None:
                board = env.to_string(state)
                other_board = str(other)
                what, ours, theirs = values
                return replace(
                    difference,
                    what=what,
                    ours=ours,
                    theirs=theirs,
                    actions=tuple(actions),
                    board=board,
                    other_board=other_board,
                ), actions
            over = fields["terminated"] or fields["truncated"]
            legal = [] if over else np.flatnonzero(fields["legal_action_mask"]).tolist()
            action = choose(len(actions), legal) if legal and len(actions) < MAX_PLIES else None
            if action is None:
                return None, actions
            actions.append(action)
            state = env.step(state, [action])
            fields = env.row(state, 0)
            returns = [total + paid for total, paid in zip(returns, fields["rewards"], strict=True)]
            other.apply(action, fields)
    except Exception as error:  # whatever another engine raises
        if not actions:
            raise
        return replace(difference, theirs=repr(error), actions=tuple(actions), board=env.to_string(state)), actions


def _compared(
    env: Env, state: State, fields: dict[str, Any], returns: list[float], other: OtherEngine
) -> tuple[str, str, str] | None:
    """Return the first difference between two positions with the value in each; None if they agree."""
    over = fields["terminated"] or fields["truncated"]
    if over != other.over:
        return "end", _end(over), _end(other.over)
    if any(not abs(mine - theirs) <= 1e-6 for mine, theirs in zip(returns, other.returns, strict=True)):
        return "returns", str(returns), str([*other.returns])
    if over:
        return None
    if fields["current_player"] != other.player:
        return "player to move", str(fields["current_player"]), str(other.player)
    ours = set(np.flatnonzero(fields["legal_action_mask"]).tolist())
    theirs = set(other.legal())
    if ours != theirs:
        names = env.legal_actions(state)
        return "legal actions", _listed(ours - theirs, names), _listed(theirs - ours, names)
    return None


def _end(over: bool) -> str:
    return "the game is over" if over else "the game goes on"


def _listed(actions: set[int], names: dict[int, str]) -> str:
    """Return the names of the actions that only one of the engines allows."""
    if not actions:
        return "none beside those of both"
    listed = [names.get(action, f"number {action}") for action in sorted(actions)]
    return ", ".join(listed[:MAX_LISTED]) + ", ..." * (len(listed) > MAX_LISTED)


def report(env: Env, name: str, difference: Difference | None, games: int, plies: int) -> str:
    """Return a text on the comparison with an engine."""
    title = f"{env.id} beside {name}"
    if difference is None:
        return f"{title}: no difference in {games} games, {plies} plies"
    state = env.init(1, difference.seed, first_row=difference.row)
    moves = list[str]()
    for action in difference.actions:
        moves.append(env.legal_actions(state)[action])
        state = env.step(state, [action])
    lines = [
        f"{title}: {difference.what} after {len(moves)} plies (the first difference of {games} games, {plies} plies)",
        f"seed {difference.seed}, row {difference.row}, actions {[*difference.actions]}",
        f"moves: {' '.join(moves) or 'none'}",
        f"here: {difference.ours}",
        f"{name}: {difference.theirs}",
        "",
        difference.board,
        "",
        difference.other_board,
    ]
    return "\n".join(lines).rstrip()

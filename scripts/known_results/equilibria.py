"""Values of games of hidden information, and how exploitable searches and trained players are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs.solve.exploitability import responses

POSITIONS, GAMES, SEED = 64, 256, 0  # positions of Tensor (stars), and random games that they come from
TURN = 2  # the third one of a hand
SAMPLE, RESPONSE = 128, 128  # games of a lower bound, and simulations of the players that respond
STATES = 10**6  # upper bound for those of a game without a tree
PRECISION = 1e-5  # exploitability of the equilibria
TRUNK, SUBGAME = 1e-3, 1e-4  # exploitability of an equilibrium whose subgames are solved anew, and of these


def first_players_value(name: str) -> str:
    """Return the value of a game for player 0, to four decimals."""
    return f"{te.equilibrium(te.make(name), 'dcfr', iterations=100_000, until=PRECISION).values[0]:.4f}"


def value_of_uniform_play(name: str) -> str:
    """Return the expected return of player 0 in a game of uniform play, to six decimals."""
    return f"{responses(te.make(name), uniform, STATES).values[0]:.6f}"


def responses_to_uniform_play(name: str, **config: Any) -> str:
    """Return what each player gets by a best response to uniform play, to four decimals."""
    result = responses(te.make(name, **config), uniform, STATES)
    return " ".join(f"{result.best(player):.4f}" for player in range(result.players))


def uniform(state: te.State) -> np.ndarray:
    mask = state.legal_action_mask.numpy()
    return np.asarray(mask / mask.sum(1, keepdims=True))


def of_uniform(name: str) -> str:
    """Return the exploitability of uniform play."""
    return exploitability(name, uniform)


def of_search(name: str, simulations: int) -> str:
    """Return the exploitability of playout search that plays by its shares of visits."""
    return exploitability(name, lambda state: te.search.playout_policy(state, simulations).action_weights)


def of_resolving(safe: bool) -> str:
    """Return the exploitability of an equilibrium of Leduc poker whose second round is solved anew."""
    first = te.equilibrium(tree("leduc_poker"), "dcfr", iterations=100_000, until=TRUNK)
    return f"{resolved(first, safe, SUBGAME).exploitability:.4f}"


def resolved(first: te.Equilibrium, safe: bool, until: float) -> te.TabularPolicy:
    """Return strategies of Leduc poker with their second round solved anew, to this exploitability.

    The unsafe solutions trust that both players have followed their strategies in the first round, the safe ones
    (`te.resolve`) only that the player itself has.
    """
    whole = first.tree
    table, deals = first.table.copy(), list(itertools.permutations(range(6), 3))
    start = whole.env.state_from_dicts([{"cards": [a, b], "public": c, "history": []} for a, b, c in deals])
    remaining = [(start, np.ones((2, len(deals))))]
    while remaining:
        state, reach = remaining.pop()  # of each player
        values = state.numpy()
        if values["round"][0] == 1 and not values["terminated"].any():
            if safe:
                solved = [(p, te.resolve(state, p, first, reach[p], until=until)) for p in (0, 1) if reach[p].any()]
            else:
                belief = te.game_tree(state, weights=reach.prod(0))
                solved = [(p, te.equilibrium(belief, "dcfr", until=until)) for p in (0, 1)]
            for p, subgame in solved:
                own = subgame.tree.player == p
                table[whole.find(subgame.tree.states)[own]] = subgame.table[own]
        elif not values["terminated"].any():
            chances = first.probabilities(state)
            for action in np.flatnonzero(chances.any(0)):
                shares = np.where(np.arange(2)[:, None] == values["current_player"], chances[:, action], 1)
                remaining.append((whole.env.step(state, np.full(len(deals), action, np.int32)), reach * shares))
    return te.TabularPolicy(whole, whole.strategies(table))


def of_trained(name: str, simulations: int) -> str:
    """Return the exploitability of a player whose weights come with the package."""
    player, actions = te.agents.load(name, simulations), te.make(name).num_actions
    return exploitability(name, lambda state: np.eye(actions)[te.to_numpy(player(state))])


def at_least(name: str, simulations: int) -> str:
    """Return a lower bound of the exploitability of a trained player in a whole game, with its 95 % interval.

    The responses are playout search and the trained player by more simulations.
    """
    env = te.make(name)
    responses = [te.agents.playout_search(RESPONSE), te.agents.load(name, RESPONSE)]
    bound = te.exploitability_bound(env, te.agents.load(name, simulations), responses, SAMPLE)
    return f"{bound.value:.2f} +- {bound.interval:.2f}"


def exploitability(name: str, policy: Callable[[te.State], Any]) -> str:
    """Return the exploitability of a function of a State to probabilities, to three decimals."""
    return f"{te.exploitability(tree(name), policy):.3f}"


@cache
def tree(name: str) -> te.GameTree:
    """Return the tree of a game; of Tensor (stars), that of its last turn."""
    return last_turn() if name == "tensor_stars" else te.game_tree(te.make(name))


def last_turn() -> te.GameTree:
    """Return the tree of Tensor (stars) from the third turn of the last hand, in positions of random games."""
    env, games = te.make("tensor_stars"), list[dict[str, Any]]()
    state = env.init(GAMES, SEED)
    while len(games) < POSITIONS:
        values = state.numpy()
        here = (values["turn"] == TURN) & (values["placed"] == 0)
        for row in np.flatnonzero(here & ~values["terminated"] & ~values["truncated"]):
            # as in the last hand, and of one ply, which tells nothing else
            games.append(env.state_to_dict(state, int(row)) | {"hands": env.rules.max_hands - 1, "ply": 12})
        state = env.reset(env.step(state, te.agents.uniform(state)))
    return te.game_tree(env.state_from_dicts(games[:POSITIONS]))

"""Values of games of hidden information, and how exploitable searches and trained players are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs.equilibria.exploitability import responses
from tensor_envs.games.three_will.data import MOVE

POSITIONS, GAMES, SEED = 64, 256, 0  # positions of Tensor (stars), and random games that they come from
TURN = 2  # the third one of a hand
SAMPLE, RESPONSE = 128, 128  # games of a lower bound, and simulations of the players that respond
WITHOUT_TREE = ("dark_hex", "phantom_tic_tac_toe")  # their trees are too large
RESPONSE_STEPS = 40  # of a network that responds
STATES = 10**6  # upper bound for those of a game without a tree
PRECISION = 1e-5  # exploitability of the equilibria
ROUGH, BIAS = 60, 10  # iterations of an equilibrium, and factor of an action's probability
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
    whole, table = first.tree, first.table.copy()
    start = every_deal(whole.env)
    remaining = [(start, np.ones((2, start.batch)))]
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
                _replace(table, whole, p, subgame)
        elif not values["terminated"].any():
            remaining += _after(state, reach, first.probabilities(state))
    return te.TabularPolicy(whole, whole.strategies(table))


def of_depth_limit(depth: int | None, biased: bool) -> str:
    """Return the exploitability of a rough equilibrium of Leduc poker each of whose decisions is solved anew."""
    first = te.equilibrium(tree("leduc_poker"), "dcfr", iterations=ROUGH, until=None)
    return f"{continually_resolved(first, depth, biased, SUBGAME).exploitability:.4f}"


def continually_resolved(first: te.Equilibrium, depth: int | None, biased: bool, until: float) -> te.TabularPolicy:
    """Return strategies of Leduc poker whose every decision is solved anew, to a depth limit.

    At a leaf the opponent goes on by its strategy, or, if `biased`, chooses among that and three biased ones, as in the
    source of `te.resolve`. A solution takes the place of the player's strategy, also for what is solved after it.
    """
    whole, table = first.tree, first.table.copy()
    start = every_deal(whole.env)
    remaining = [(start, np.ones((2, start.batch)))]
    while remaining:
        state, reach = remaining.pop()
        values = state.numpy()
        if values["terminated"].any():
            continue
        p = int(values["current_player"][0])
        if reach[p].any():
            strategies = list(first.strategies)
            strategies[p] = whole.strategies(table)[p]
            blueprint = te.TabularPolicy(whole, strategies)
            leaf = [blueprint, *(partial(_biased, blueprint, action) for action in range(3) if biased)]
            limit: dict[str, Any] = {} if depth is None else {"depth": depth, "leaf": leaf}
            _replace(table, whole, p, te.resolve(state, p, blueprint, reach[p], until=until, **limit))
        legal = values["legal_action_mask"]
        remaining += _after(state, reach, np.where(legal, table[whole.find(state)], 0), legal)
    return te.TabularPolicy(whole, whole.strategies(table))


def every_deal(env: te.Env) -> te.State:
    """Return Leduc poker before the first action, with every deal."""
    deals = itertools.permutations(range(6), 3)
    return env.state_from_dicts([{"cards": [a, b], "public": c, "history": []} for a, b, c in deals])


def _replace(table: np.ndarray, whole: te.GameTree, player: int, subgame: te.Equilibrium) -> None:
    """Write a player's strategy in a subgame into a table of the whole game."""
    own = (subgame.tree.player == player) & ~subgame.tree.choices
    table[whole.find(subgame.tree.states)[own]] = subgame.table[own, : table.shape[1]]


def _after(state: te.State, reach: np.ndarray, chances: np.ndarray, legal: Any = None) -> list[tuple[te.State, Any]]:
    """Return the games after each action that is played, or legal, with what each player does for it."""
    players, games = np.arange(2)[:, None], []
    for action in np.flatnonzero((chances if legal is None else legal).any(0)):
        shares = np.where(players == state.current_player.numpy(), chances[:, action], 1)
        games.append((state.env.step(state, np.full(state.batch, action, np.int32)), reach * shares))
    return games


def _biased(policy: te.TabularPolicy, action: int, state: te.State) -> np.ndarray:
    """Return a policy's probabilities with that of one action ten times as high."""
    chances = policy.probabilities(state) * np.where(np.arange(state.env.num_actions) == action, BIAS, 1)
    return np.asarray(chances / np.maximum(chances.sum(1, keepdims=True), np.finfo(float).tiny))


def of_trained(name: str, simulations: int) -> str:
    """Return the exploitability of a player whose weights come with the package."""
    player, actions = te.agents.load(name, simulations), te.make(name).num_actions
    return exploitability(name, lambda state: np.eye(actions)[te.to_numpy(player(state))])


def at_least(name: str, simulations: int) -> str:
    """Return a lower bound of the exploitability of a trained player in a whole game, with its 95 % interval.

    The responses are playout search, the trained player by more simulations, and a network that PPO trains against it.
    """
    env = te.make(name)
    player = te.agents.load(name, simulations)
    learned = te.train.response(env, player, steps=RESPONSE_STEPS)
    responses = [te.agents.playout_search(RESPONSE), te.agents.load(name, RESPONSE), learned]
    bound = te.exploitability_bound(env, player, responses, SAMPLE)
    return f"{bound.value:.2f} +- {bound.interval:.2f}"


def exploitability(name: str, policy: Callable[[te.State], Any]) -> str:
    """Return the exploitability of a function of a State to probabilities, to three decimals."""
    return f"{te.exploitability(te.make(name) if name in WITHOUT_TREE else tree(name), policy):.3f}"


def information_states(name: str) -> str:
    """Return the number of information states of a tree, and that of its histories."""
    return f"{len(tree(name)):,} {tree(name).nodes:,}"


@cache
def tree(name: str) -> te.GameTree:
    """Return the tree of a game; of Tensor (stars) and Three Will, that of their last turns."""
    subgames = {"tensor_stars": last_turn, "three_will": last_two_turns}
    return subgames[name]() if name in subgames else te.game_tree(te.make(name))


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


def last_two_turns() -> te.GameTree:
    """Return the tree of Three Will from the last turn but one, in positions of random games.

    One more agent in the base wins for the player to move. Nobody has a Free card, by which turns are long.
    """
    env, games = te.make("three_will"), list[dict[str, Any]]()
    state = env.init(2 * GAMES, SEED)
    while len(games) < POSITIONS:
        values = state.numpy()
        here = (values["phase"] == MOVE) & ~values["terminated"] & ~values["truncated"] & ~values["free"].any(1)
        for row in np.flatnonzero(here):
            game = env.state_to_dict(state, int(row))
            white, black = np.split(np.array(game["pos"]) // 8, 2)  # rows of the agents
            in_base = (white == 7).sum() if game["player"] == 0 else (black == 0).sum()
            if in_base == env.rules.to_win - 1:
                games.append(game | {"turns": env.rules.max_turns - 2, "t": 2 * env.rules.max_turns})
        state = env.reset(env.step(state, te.agents.uniform(state)))
    return te.game_tree(env.state_from_dicts(games[:POSITIONS]))

"""Regret of policies by values of actions, exact ones or estimates."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._engine.inputs import host_array, host_ints
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._validate import function, instance, integer, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.evaluation.matches import LIMIT, MAX_GAMES, actions_of
from tensor_envs.search.policies import MAX_SIMULATIONS, playout_policy

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Oracle, Policy

MAX_NODES = 100_000  # nodes of the largest game tree that `oracle_of` solves
EXPLOITABILITY = 1e-4


def regret(
    env: Env,
    policy: Policy,
    oracle: Oracle,
    games: int = 256,
    seed: int = 0,
    device: DeviceName | None = None,
    opening: int = 0,
) -> float:
    """Return the mean loss of exact value per decision of a policy that plays all players.

    Args:
        env: an environment that the oracle covers.
        policy: the policy.
        oracle: exact values, such as a `Solution` by `te.solve` or Shed's `Tablebase`.
        games: number of games.
        seed, device: as in `Env.init`.
        opening: number of uniformly random plies at the start, which do not count.

    Returns:
        The mean regret of a decision: 0 for perfect play.

    Raises:
        ValueError, TypeError: an argument out of range or of another type.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> solution = te.solve(env)
        >>> te.regret(env, te.agents.perfect(solution), solution, games=8)
        0.0
    """
    instance("env", env, Env)
    function("policy", policy)
    judge = function("oracle.regret", getattr(oracle, "regret", None))
    state = env.init(integer("games", games, 1, MAX_GAMES), seed, device)
    for _ in range(integer("opening", opening, 0, LIMIT)):
        state = env.step(state, uniform(state))
    total, decisions = 0.0, 0
    for _ in range(LIMIT):
        values = state.numpy()
        live = ~(values["terminated"] | values["truncated"])
        if not live.any():
            break
        actions = actions_of(policy, state)
        lost = host_array("oracle.regret", judge(state, actions))
        if lost.shape != live.shape or lost.dtype.kind not in "biuf" or not np.isfinite(lost[live]).all():
            raise ValueError(f"oracle.regret must give finite numbers [{len(live)}], got {shown(lost)}")
        total += float(lost[live].sum())
        decisions += int(live.sum())
        state = env.step(state, actions)
    if not decisions:
        raise ValueError(f"opening must leave decisions to judge, all {games} games end within {opening} plies")
    return total / decisions


class PlayoutOracle:
    """Oracle that estimates values by `te.search.playout_policy`, for games without exact values.

    Attributes:
        num_simulations: simulations for each position, 1..2^20.
        seed: seed of the searches.

    Examples:
        >>> oracle = te.PlayoutOracle(num_simulations=256)
        >>> env = te.make("tic_tac_toe")
        >>> state = env.step(env.init(2), [0, 0])
        >>> lost = oracle.regret(state, [4, 1])  # only the centre does not lose
        >>> bool(lost[0] < lost[1])
        True
    """

    def __init__(self, num_simulations: int = 1024, seed: int = 0):
        self.num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
        self.seed = integer("seed", seed, 0, 2**64 - 1)

    def __repr__(self) -> str:
        return f"<PlayoutOracle of {self.num_simulations} simulations>"

    def best_actions(self, state: State) -> np.ndarray:
        """Return the most visited action, bool [B, A]."""
        best, _, _ = self._search(state)
        return (np.arange(state.env.num_actions) == best[:, None]) & to_numpy(state.legal_action_mask)

    def regret(self, state: State, action: Any) -> np.ndarray:
        """Return how much less an action is worth than the most visited one, at least 0, float32 [B].

        An illegal action, or -1, is worth -1. In a finished game the regret is 0.
        """
        actions = host_ints("action", action, state.batch, state.env.num_actions, low=-1)
        best, values, proven = self._search(state)
        rows = np.arange(state.batch)
        mask = to_numpy(state.legal_action_mask)
        legal = mask[rows, actions] & (actions >= 0)
        value = values[rows, actions]
        # a proof ends a search, so that the other actions have hardly been tried
        hardly_tried = proven & legal & (actions != best)
        if hardly_tried.any():
            value = np.where(hardly_tried, self._values_after(state, np.where(hardly_tried, actions, best)), value)
        worth = np.where(legal, value, -1)
        return np.where(mask.any(1), np.maximum(values[rows, best] - worth, 0), 0)

    def _search(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the most visited actions [B], mean returns of all actions [B, A], and what is proven [B]."""
        output = playout_policy(state, self.num_simulations, seed=self.seed)
        found = output.search_tree.summary()
        return to_numpy(output.action), found["qvalues"], found["proven"]

    def _values_after(self, state: State, actions: np.ndarray) -> np.ndarray:
        """Return the values of actions, [B], by searches of the positions after them.

        The game is for one player, or for two with zero sum, as all games with proofs are.
        """
        after = state.env.step(state, actions)
        value = playout_policy(after, self.num_simulations, seed=self.seed).search_tree.summary()["value"]
        mover, next_mover = (to_numpy(s.current_player) for s in (state, after))
        # A finished game has the value 0.
        return to_numpy(after.rewards)[np.arange(state.batch), mover] + np.where(mover == next_mover, value, -value)


@functools.lru_cache(8)
def oracle_of(env: Env, num_simulations: int = 1024) -> Oracle:
    """Return the exact values of a game that is solved in seconds, or estimates by playout search."""
    # a game imports the package's public names, and is itself imported with its first environment
    from tensor_envs.equilibria.equilibrium import equilibrium
    from tensor_envs.equilibria.game_tree import game_tree
    from tensor_envs.evaluation.agents import solution_of

    try:
        if (own := env.entry.quick_oracle(env.rules)) is not None:
            solved: Oracle = own.solve(env.rules)
            return solved
        if env.spec.perfect_information:
            return solution_of(env)
        if env.num_players == 2 and env.spec.zero_sum:
            return equilibrium(game_tree(env, max_nodes=MAX_NODES), until=EXPLOITABILITY)
    except ValueError:  # too large, or of rules that the solvers do not take
        pass
    return PlayoutOracle(num_simulations)

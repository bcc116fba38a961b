"""Players: functions of a State to an action in every game, for the arena, rollouts and loops of one's own.

A policy gives some action in games that are over, which nobody plays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.devices import DeviceName, is_capturing
from tensor_envs._validate import file_path, function, instance, integer, shown
from tensor_envs.env import Env
from tensor_envs.interop import to_numpy
from tensor_envs.jit import jit
from tensor_envs.sampling import masked_logits, sample_action, uniform
from tensor_envs.search.policies import MAX_SIMULATIONS, Evaluate, gumbel_muzero_policy, playout_policy
from tensor_envs.solve.solver import Solution, solve
from tensor_envs.state import State
from tensor_envs.train.network import FOLDER, Network, evaluator
from tensor_envs.train.network import load as load_network

__all__ = ["Oracle", "Policy", "greedy", "gumbel", "load", "perfect", "playout_search", "uniform"]
Policy = Callable[[State], Any]  # integers [B], a Tensor or what NumPy takes
MAX_POSITIONS = 250_000  # upper bound for a game that is solved without an oracle


class Oracle(Protocol):
    """Who knows perfect play: a `tensor_envs.Solution`, or Shed's `Tablebase`."""

    def best_actions(self, state: State) -> Any:
        """bool [B, A]: the legal actions that keep the position's value."""

    def regret(self, state: State, action: Any) -> Any:
        """Numbers [B]: how much of the position's value an action gives away."""


def greedy(evaluate: Evaluate) -> Policy:
    """The action that a network likes best.

    Args:
        evaluate: as in `te.search.gumbel_muzero_policy`; captured, so pass the same function every time.

    Returns:
        A policy.

    Raises:
        TypeError: `evaluate` is no function. The policy raises ValueError for legal logits that are NaN or infinite,
            unless a jit captures it.
    """
    function("evaluate", evaluate)

    @jit
    def choose(state: State) -> Tensor:
        given, mask = evaluate(state), state.legal_action_mask
        if not isinstance(given, tuple) or not given or not isinstance(given[0], Tensor):
            raise TypeError(f"evaluate must return two Tensors, logits and values, got {shown(given)}")
        return _or_none(masked_logits(given[0], mask).argmax(1), mask, mask)

    return lambda state: _found(choose(state), "evaluate must give finite numbers, got NaN or infinity")


def _or_none(action: Tensor, allowed: Tensor, mask: Tensor) -> Tensor:
    """int32 [B]: -1 for an action that is not allowed, in games that go on."""
    found = (Tensor.arange(mask.shape[1]).reshape(1, -1) == action.reshape(-1, 1)) & allowed & mask
    return (found.any(1) | mask.any(1).logical_not()).where(action, -1).cast(dtypes.int32)


def _found(action: Tensor, otherwise: str) -> Tensor:
    """ValueError with a text where some are -1; nobody can know while a jit captures."""
    if not is_capturing() and (wrong := int((to_numpy(action) < 0).sum())):
        raise ValueError(f"{otherwise} in {wrong} games")
    return action


def playout_search(num_simulations: int, seed: int = 0) -> Policy:
    """Monte Carlo tree search, see `te.search.playout_policy`.

    Args:
        num_simulations: for every decision.
        seed: of the search.

    Returns:
        A policy.

    Raises:
        ValueError, TypeError: no such number.
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    return lambda state: playout_policy(state, count, seed=seed).action


def gumbel(evaluate: Evaluate, num_simulations: int = 32, gumbel_scale: float = 0.0, seed: int = 0) -> Policy:
    """Search with a network, see `te.search.gumbel_muzero_policy`.

    Args:
        evaluate, num_simulations, gumbel_scale, seed: as there.

    Returns:
        A policy.

    Raises:
        ValueError, TypeError: no such number, or no function.
    """
    function("evaluate", evaluate)
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    return lambda state: (
        gumbel_muzero_policy(state, evaluate, count, gumbel_scale=gumbel_scale, seed=seed).action
    )


def load(path: str | Path, num_simulations: int = 32, seed: int = 0) -> Policy:
    """A trained player: weights that `scripts/train/alphazero.py` or `ppo.py` has saved, or that come with the package.

    Args:
        path: of the file, or the id of a game whose weights come with the package, see tensor_envs/weights/README.md.
        num_simulations: of a decision, by `te.search.gumbel_muzero_policy` without noise; 0 for what the network likes
            best.
        seed: of the search.

    Returns:
        A policy for the game that the file names, on any device. It raises ValueError for states of other games.

    Raises:
        FileNotFoundError: no such file.
        ValueError: names the file, if it holds no weights, is damaged, or is of another version of the game.
        TypeError: no path.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> found = te.evaluate(env, [te.agents.load("tic_tac_toe", 0), te.agents.uniform], games=64)
        >>> bool(found.scores[0] > 0.8)
        True
    """
    count = integer("num_simulations", num_simulations, 0, MAX_SIMULATIONS)
    given = file_path("path", path)
    own = FOLDER / f"{given}.safetensors"
    if not (given.exists() or own.is_file()):
        ids = ", ".join(sorted(file.stem for file in FOLDER.glob("*.safetensors")))
        raise FileNotFoundError(f"no file {str(given)!r}; games whose weights come with the package: {ids}")
    env, weights = load_network(own if own.is_file() and not given.exists() else given)

    @functools.cache
    def player(device: DeviceName) -> Policy:
        evaluate = evaluator(env, Network(env, weights=weights, device=device))
        return gumbel(evaluate, count, seed=seed) if count else greedy(evaluate)

    def policy(state: State) -> Tensor:
        instance("state", state, State)
        if not state.env.plays_like(env):
            raise ValueError(f"state must be of {env!r}, whose weights these are, got one of {state.env!r}")
        return player(state.device)(state)

    return policy


def perfect(oracle: Oracle | None = None) -> Policy:
    """Return a policy that draws one of the actions that keep the position's value.

    Args:
        oracle: exact values of the game. None: `te.solve` solves the game when the policy first meets it, which takes
            at most 250,000 positions.

    Returns:
        A policy. It raises ValueError for a game that the oracle does not cover.

    Raises:
        TypeError: the oracle has no method `best_actions`.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.agents.perfect()(env.step(env.init(2), [0, 8])).tolist()  # only the centre does not lose
        [4, 4]
    """
    if oracle is not None:
        function("oracle.best_actions", getattr(oracle, "best_actions", None))

    def policy(state: State) -> Tensor:
        instance("state", state, State)
        best = (solution_of(state.env) if oracle is None else oracle).best_actions(state)
        if not isinstance(best, Tensor):
            best = Tensor(np.asarray(best), device=state.device)
        shape = (state.batch, state.env.num_actions)
        if best.shape != shape or best.dtype != dtypes.bool:
            raise ValueError(f"best_actions must give bool {shape}, got {best.dtype} {best.shape}")
        return _found(_one_of(best, state), "best_actions must name legal actions, which are missing")

    return policy


@functools.lru_cache(8)
def solution_of(env: Env) -> Solution:
    """Solve a small game once. ValueError for a game that `te.solve` cannot solve within `MAX_POSITIONS`."""
    try:
        return solve(env, max_positions=MAX_POSITIONS)
    except ValueError as error:
        raise ValueError(f"perfect play of {env!r} needs an oracle: {error}") from None


@jit
def _one_of(best: Tensor, state: State) -> Tensor:
    action = sample_action(best.float() * 0, best, state.action_key, state.ply)
    return _or_none(action, best, state.legal_action_mask)

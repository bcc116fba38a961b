"""Rollouts: many steps of a policy, and random playouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import MAX_BATCH, BatchBuffers
from tensor_envs._engine.inputs import int_array
from tensor_envs._engine.kernels.base import AutoReset
from tensor_envs._engine.random import seed_words
from tensor_envs._runtime.buffers import upload
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.context import stays_lazy
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.launch import realize, settled
from tensor_envs._validate import instance, integer, shown
from tensor_envs.counts import DecisionCounts
from tensor_envs.env import Env
from tensor_envs.interop import to_numpy
from tensor_envs.sampling import uniform
from tensor_envs.state import State

Policy = Callable[[State], Tensor]


class Rollout(DecisionCounts):
    """Result of a rollout: last state and sums over all steps, with `count_actions` also of decisions.

    Attributes:
        state: last state.

    Examples:
        >>> te.rollout(te.make("tic_tac_toe"), "uniform", batch=4, steps=9, autoreset=False).episodes.tolist()
        [1, 1, 1, 1]
    """

    def __init__(self, state: State, totals: Tensor, begin: State, autoreset: bool, counts: Tensor | None = None):
        super().__init__(state.env, state.buffers.layout, counts)
        self.state, self._totals, self._begin, self._autoreset = state, totals, begin, autoreset

    def __repr__(self) -> str:
        count = int(to_numpy(self.episodes).sum())
        return f"<Rollout of {self.state.batch} games on {self.state.device}, {count} episodes finished>"

    @property
    def returns(self) -> Tensor:
        """Sums of rewards, float32 [B, P]; whole numbers are exact up to 2^24."""
        return settled(self._columns(0))

    @property
    def wins(self) -> Tensor:
        """Episodes that ended with a positive reward for the player, int32 [B, P]; exact up to 2^24."""
        return settled(self._columns(self.state.env.num_players).cast(dtypes.int32))

    def _columns(self, first: int) -> Tensor:
        """Return P columns of the totals. Lazy, since building a view takes longer than a short rollout."""
        return self.state.buffers.layout.view(self._totals, first, self.state.env.num_players)

    @property
    def episodes(self) -> Tensor:
        """Finished episodes, int32 [B]."""
        begin, end = self._begin, self.state
        if self._autoreset:
            return settled((end.episode - begin.episode).cast(dtypes.int32))
        finished, before = (s.terminated | s.truncated for s in (end, begin))
        return settled((finished & ~before).cast(dtypes.int32))


def rollout(
    env: Env,
    policy: Literal["uniform"] | Policy,
    batch: int,
    steps: int,
    seed: int = 0,
    device: DeviceName | None = None,
    autoreset: bool = True,
    first_row: int = 0,
    count_actions: bool = False,
) -> Rollout:
    """Play a policy in new games for a number of steps.

    Args:
        env: the environment.
        policy, steps, autoreset, count_actions: as in `rollout_from`.
        batch, seed, device, first_row: as in `Env.init`.

    Returns:
        The last state, returns, wins and finished episodes.

    Raises:
        ValueError, TypeError, RuntimeError: as in `rollout_from` and `Env.init`.

    Examples:
        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", batch=64, steps=100)
        >>> result.returns.shape, bool((result.episodes.numpy() >= 11).all())
        ((64, 2), True)

        How often each cell is taken in games of tic-tac-toe, and how many decisions have nine legal actions:

        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", 64, 9, autoreset=False, count_actions=True)
        >>> result.action_counts.sum().item() == result.state.ply.sum().item(), result.width_counts.sum(0)[8].item()
        (True, 64)
    """
    instance("env", env, Env)
    return _play(env.init(batch, seed, device, first_row), policy, steps, autoreset, count_actions, fresh=True)


def rollout_from(
    state: State, policy: Literal["uniform"] | Policy, steps: int, autoreset: bool = True, count_actions: bool = False
) -> Rollout:
    """Play a policy in the games of a state, which stays valid.

    Args:
        state: the games.
        policy: "uniform" (one kernel for the whole rollout) or a function of a State to int32 actions [B] in tinygrad
            operations, which is captured together with the step.
        steps: number of actions in every game, 1..2^31-1.
        autoreset: reset finished games, before the first step and then in the step that ends them. If False they stay
            as they ended, and the uniform policy stops when all games are over.
        count_actions: count how often every action is legal and taken, by whom and when, and the events of the rules,
            for "uniform" in games without memory fields. The counts are int32 and wrap beyond 2^31.

    Returns:
        The last state, returns, wins and finished episodes.

    Raises:
        ValueError, TypeError: an argument out of range or of another type, or a function in an environment with
            illegal="raise"; `count_actions` where decisions are not counted.
        RuntimeError: a function inside a jit.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.rollout_from(env.step(env.init(2), [0, 4]), "uniform", steps=1).state.ply.tolist()
        [2, 2]
    """
    instance("state", state, State)
    return _play(state, policy, steps, autoreset, count_actions, fresh=False)


def _play(
    state: State, policy: Literal["uniform"] | Policy, steps: int, autoreset: bool, count: bool, fresh: bool
) -> Rollout:
    """Play a policy in the games of a state; `fresh` means that none of them is finished."""
    steps = integer("steps", steps, 1, 2**31 - 1)
    instance("autoreset", autoreset, bool)
    instance("count_actions", count, bool)
    if not callable(policy) and policy != "uniform":
        raise ValueError(f"policy must be 'uniform' or a function of a State, got {shown(policy)}")
    env = state.env
    state = env.reset(state) if autoreset and not fresh else state
    reset: AutoReset = "same_step" if autoreset else "none"
    if not callable(policy) and not env.engine.game.has_memory:
        buffers, totals, counts = env.engine.rollout(state.buffers, steps, reset, count)
        return Rollout(State(env, buffers), totals, state, autoreset, counts)
    if count:
        raise ValueError("count_actions must be False except for policy='uniform' in a game without memory fields")
    if callable(policy) and env.illegal == "raise":
        raise ValueError('a captured policy cannot have its actions checked: make the env with illegal="lose"')
    if stays_lazy():
        raise RuntimeError("a rollout of a policy captures its own steps, so a jit cannot capture it")
    chosen = policy if callable(policy) else uniform
    buffers, totals = _captured(chosen, state, steps, reset)
    return Rollout(State(env, buffers), totals, state, autoreset)


def playout(state: State, n: int, action: Any = None, seed: int = 0, limit: int = 2**31 - 1) -> Tensor:
    """Return the mean returns of n random games from every state to its end, by one kernel.

    Args:
        state: the games; a game that is over returns 0.
        n: number of playouts of each game. Each draws its own chance, from the first action on: playout c of game i is
            row i * n + c of the seed. Use another seed for every call.
        action: integers [B], played first in all playouts of a game, or None. The uniform policy plays the rest.
        seed: as in `Env.init`.
        limit: maximum number of actions of a playout.

    Returns:
        float32 [B, P].

    Raises:
        ValueError, TypeError: another state, an action as in `Env.step`, n below 1 or too many copies for one batch.
        NotImplementedError: a game too large to unroll.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.playout(env.init(4), n=8).shape
        (4, 2)
    """
    instance("state", state, State)
    env, buffers = state.env, state.buffers
    n = integer("n", n, 1, MAX_BATCH // state.batch)
    limit, words = integer("limit", limit, 1, 2**31 - 1), seed_words(seed)
    actions = None if action is None else env.action_buffer(state, action)
    returns = env.engine.playout(buffers, n, actions, words, limit)
    return settled(returns.reshape(state.batch, n, env.num_players).mean(1))


def _captured(policy: Policy, state: State, steps: int, reset: AutoReset) -> tuple[BatchBuffers, Tensor]:
    """Play a policy by one captured graph per step, between two buffers. Returns the last buffers and the totals."""
    env, engine = state.env, state.env.engine
    buffers, layout, players = state.buffers, state.buffers.layout, state.env.num_players
    first = policy(state)
    if not isinstance(first, Tensor):
        raise TypeError(f"policy must return a Tensor of integers, got {type(first).__name__}")
    realize(first)  # the capture must not contain what a first call sets up
    totals = upload(np.zeros(layout.rows * 2 * players, np.float32), state.device)

    def step(old: Tensor, new: Tensor, row_keys: Tensor, totals: Tensor) -> None:
        before = BatchBuffers(old, row_keys, layout)
        observed = State(env, engine.copy(before, live=True) if reset == "same_step" else before)
        actions = int_array("action", policy(observed), layout)
        stepped = State(env, engine.step(before, actions, reset, new))
        won = (stepped.terminated | stepped.truncated).unsqueeze(1) & (stepped.rewards > 0)
        sums = stepped.rewards.cat(won.cast(dtypes.float32), dim=1)
        sums = sums.reshape(layout.shards, layout.share, 2 * players).pad(
            ((0, 0), (0, layout.grid.rows - layout.share), (0, 0))
        )
        sums = sums.reshape(-1, layout.grid.lanes, 2 * players).permute(0, 2, 1).flatten()
        Tensor.realize(stepped.buffers.words, totals.assign(totals + sums))

    replay = CapturedFunction(step)
    words = [engine.empty(buffers), engine.empty(buffers)]
    replay(buffers.words, words[0], buffers.row_keys, totals)
    turns = [replay.bind(words[1 - k], words[k], buffers.row_keys, totals) for k in range(2)] if steps > 1 else []
    for i in range(1, steps):
        turns[i % 2]()
    last = buffers._replace(words=words[(steps - 1) % 2])
    if reset == "same_step":
        last = engine.copy(last, live=True)
    return last, totals

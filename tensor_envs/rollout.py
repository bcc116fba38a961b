"""Whole rollouts: many steps of a policy, with finished games started again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.arguments import int32_buffer, integers
from tensor_envs.core.checks import instance, integer
from tensor_envs.core.device import is_capturing, upload
from tensor_envs.core.env import MAX_BATCH, Env, blocking
from tensor_envs.core.replay import Replay
from tensor_envs.core.state import State
from tensor_envs.policy import random_policy

Policy = Callable[[State], Tensor]


class Rollout:
    """What a rollout led to, row by row and over all its steps.

    `state`: the last one. `returns` float32 [B, P]: sums of rewards. `wins` int32 [B, P]: episodes that ended with a
    positive reward for the player. `episodes` int32 [B]: finished episodes.
    """

    def __init__(self, state: State, totals: Tensor, begin: State, autoreset: bool):
        self.state, self._totals, self._begin, self._autoreset = state, totals, begin, autoreset

    def _columns(self, first: int) -> Tensor:
        """P columns of the totals, [B, P]; lazy, since building a view takes longer than a short rollout."""
        players, lanes, batch = self.state.env.num_players, self.state.lanes, self.state.batch
        rows = self._totals.reshape(-1, 2 * players, lanes)[:, first : first + players]
        return rows.permute(0, 2, 1).reshape(batch, players)

    @property
    def returns(self) -> Tensor:
        return self._columns(0)

    @property
    def wins(self) -> Tensor:
        return self._columns(self.state.env.num_players).cast(dtypes.int32)

    @property
    def episodes(self) -> Tensor:
        begin, end = self._begin, self.state
        if self._autoreset:
            return (end.episode - begin.episode).cast(dtypes.int32)
        finished, before = (s.terminated | s.truncated for s in (end, begin))
        return (finished & ~before).cast(dtypes.int32)


def rollout(
    env: Env,
    policy: str | Policy,
    batch: int,
    steps: int,
    seed: int = 0,
    device: Any = None,
    autoreset: bool = True,
) -> Rollout:
    """Play `steps` actions in each of B new games; see `rollout_from`."""
    return _play(env.init(batch, seed, device), policy, steps, autoreset, fresh=True)


def rollout_from(state: State, policy: str | Policy, steps: int, autoreset: bool = True) -> Rollout:
    """Play `steps` actions in each game of a state, which stays valid.

    policy: "uniform" (one kernel for the whole rollout) or a function of a State to int32 actions [B] in tinygrad
    operations, captured together with the step. autoreset: finished games start their next episode, at the beginning
    and then in the step that ends them; if False they stay as they ended. TypeError or ValueError for a count of steps
    outside 1..2^31-1, for another policy, and for a function where illegal="raise" asks to look at its actions;
    RuntimeError for one inside a jit.
    """
    instance("state", state, State)
    return _play(state, policy, steps, autoreset, fresh=False)


def _play(state: State, policy: str | Policy, steps: int, autoreset: bool, fresh: bool) -> Rollout:
    """fresh: no game of the state is over."""
    steps = integer("steps", steps, 1, 2**31 - 1)
    if not callable(policy) and policy != "uniform":
        raise ValueError(f"policy must be 'uniform' or a function of a State, got {policy!r}")
    env = state.env
    state = env.reset(state) if autoreset and not fresh else state
    if policy == "uniform" and not env.game.has_memory:
        last, totals = env.roll_out(state, steps, "same_step" if autoreset else "none")
    else:
        if callable(policy) and env.illegal == "raise":
            raise ValueError(
                'a policy is captured, so nobody looks at its actions: make the env with illegal="lose"'
            )
        if is_capturing():
            raise RuntimeError("a rollout of a policy captures its own steps, so a jit cannot capture it")
        totals = upload(np.zeros(state.batch * 2 * env.num_players, np.float32), state.device)
        chosen = random_policy if isinstance(policy, str) else policy
        last = _captured(chosen, state, totals, steps, autoreset)
    return Rollout(last, totals, state, autoreset)


def playout(
    env: Env, state: State, n: int, action: Any = None, seed: int = 0, limit: int = 2**31 - 1
) -> Tensor:
    """Mean returns, float32 [B, P], of n random games from every state to its end: the heart of Monte Carlo search.

    action: integers [B], played first in all n games, or None; then the uniform policy plays. Their chance is drawn
    anew, that of the first action, too: copy c of game i is row i n + c of the seed, so give every call another seed.
    A game that is over returns 0; a playout is cut off after `limit` actions. One kernel. TypeError or ValueError for a
    state of another environment, an action as in `Env.step`, n below 1 or too many copies for one batch;
    NotImplementedError for a game too large to unroll.
    """
    instance("env", env, Env)
    instance("state", state, State)
    n = integer("n", n, 1, MAX_BATCH // state.batch)
    totals = env.play_out(state, n, action, seed, integer("limit", limit, 1, 2**31 - 1))
    _, lanes = blocking(state.batch * n, state.device)
    returns = totals.reshape(-1, 2 * env.num_players, lanes)[:, : env.num_players]
    return returns.permute(0, 2, 1).reshape(state.batch, n, env.num_players).mean(1)


def _captured(policy: Policy, state: State, totals: Tensor, steps: int, autoreset: bool) -> State:
    """One captured graph a step: the policy, the step and the sums, between two sets of buffers."""
    env, lanes, stream, n = state.env, state.lanes, state.stream, len(state.tensors) - 1
    # with autoreset no state is over: the flags that a step leaves are those of its transition
    never = upload(np.zeros(2 * state.batch, np.bool_), state.device)

    def step(*tensors: Tensor) -> None:
        old, new, (stream, totals) = tensors[:n], tensors[n : 2 * n], tensors[2 * n :]
        before, after = State(env, (*old, stream), lanes), State(env, (*new, stream), lanes)
        actions = int32_buffer(integers("action", policy(before), before, before.batch))
        done = env.run(before, "step", "same_step" if autoreset else "none", actions=actions, out=after)
        won = (done.terminated | done.truncated).unsqueeze(1) & (done.rewards > 0)
        more = done.rewards.cat(won.cast(dtypes.float32), dim=1)
        rows = more.reshape(-1, lanes, 2 * env.num_players).permute(0, 2, 1).flatten()
        Tensor.realize(*done.tensors[:-1], totals.assign(totals + rows))

    first = policy(state)
    if not isinstance(first, Tensor):
        raise TypeError(f"policy must return a Tensor of integers, got {type(first).__name__}")
    first.realize()  # what a policy sets up at its first call must not be captured
    replay = Replay(step)
    out = [env.buffers(stream, lanes), env.buffers(stream, lanes)]
    states = [after.replace(flags=never) if autoreset else after for after in out]

    def tensors(before: State, after: State) -> tuple[Tensor, ...]:
        return *before.tensors[:-1], *after.tensors[:-1], stream, totals

    replay(*tensors(state, out[0]))
    turns = [replay.bound(*tensors(states[1 - k], out[k])) for k in range(2)] if steps > 1 else []
    for i in range(1, steps):
        turns[i % 2]()
    return states[(steps - 1) % 2]

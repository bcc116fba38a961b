"""Whole rollouts: many steps of a policy, with finished games started again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.device import empty_buffer, upload
from tensor_envs.core.env import Env
from tensor_envs.core.jit import Replay
from tensor_envs.core.state import State
from tensor_envs.policy import random_policy

Policy = Callable[[State], Tensor]


class Rollout:
    """What a rollout led to, row by row and over all its steps.

    `state`: the last one. `returns` float32 [B, P]: sums of rewards. `wins` float32 [B, P]: episodes that ended with a
    positive reward for the player. `episodes` uint32 [B]: finished episodes.
    """

    def __init__(self, state: State, totals: Tensor):
        players = state.env.num_players
        rows = totals.reshape(-1, 2 * players, state.lanes).permute(0, 2, 1).reshape(state.batch, 2 * players)
        self.state, self.returns, self.wins, self.episodes = (
            state,
            rows[:, :players],
            rows[:, players:],
            state.episode,
        )


def rollout(
    env: Env, policy: str | Policy, batch: int, steps: int, seed: int = 0, device: Any = None
) -> Rollout:
    """Play `steps` actions in each of B games; a game that ends starts its next episode in the same step.

    policy: "uniform" (one kernel for the whole rollout) or a function of a State to int32 actions [B] in tinygrad
    operations, captured together with the step. ValueError for fewer than one step or another policy by name.
    """
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps must be a positive int, got {steps!r}")
    if isinstance(policy, str) and policy != "uniform":
        raise ValueError(f"policy must be 'uniform' or a function of a State, got {policy!r}")
    state = env.init(batch, seed, device)
    totals = upload(np.zeros(batch * 2 * env.num_players, np.float32), state.device)
    if policy == "uniform" and not env.game.has_memory:
        devices = 1 if isinstance(state.device, str) else len(state.device)
        count = upload(np.full(devices, steps, np.int32), state.device)
        last = env.run(state, "rollout", "same_step", totals=totals, steps=count)
        return Rollout(
            last.replace(flags=state.flags), totals
        )  # no state is over, since games start again at once
    return _captured(env, random_policy if isinstance(policy, str) else policy, state, totals, steps)


def _captured(env: Env, policy: Policy, state: State, totals: Tensor, steps: int) -> Rollout:
    """One captured graph a step: the policy, the step and the sums, between two sets of buffers."""
    lanes, n = state.lanes, len(env.layout)
    ended = [
        empty_buffer(2 * state.batch, dtypes.bool, state.device) for _ in range(2)
    ]  # flags of a step's transition
    never, stream = state.flags, state.stream  # no state is over, since games start again at once

    def step(*tensors: Tensor) -> None:
        *old, never, stream, totals = tensors[: n + 5]
        before = State(env, (*old[: n + 1], never, old[-1], stream), lanes)
        after = State(env, (*tensors[n + 5 :], stream), lanes)
        actions = env.actions(before, policy(before))
        done = env.run(before, "step", "same_step", actions=actions, out=after)
        won = (done.terminated | done.truncated).unsqueeze(1) & (done.rewards > 0)
        more = done.rewards.cat(won.cast(dtypes.float32), dim=1)
        rows = more.reshape(-1, lanes, 2 * env.num_players).permute(0, 2, 1).flatten()
        Tensor.realize(*done.tensors[:-1], totals.assign(totals + rows))

    replay = Replay(step)
    buffers = [(*state.fields, state.mask, state.reward_rows), ()]
    spare = env.buffers(stream, lanes)
    buffers[1] = (*spare.fields, spare.mask, spare.reward_rows)
    for i in range(steps):
        old, new = buffers[i % 2], buffers[(i + 1) % 2]
        replay(*old, never, stream, totals, *new[: n + 1], ended[i % 2], new[-1])
    last = buffers[steps % 2]
    return Rollout(State(env, (*last[: n + 1], never, last[-1], stream), lanes), totals)

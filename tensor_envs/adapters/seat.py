"""Games as one seat meets them: it moves, the other seats answer by a policy until it is to move again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.checks import instance, integer
from tensor_envs.core.device import download, empty_buffer, resolve, upload
from tensor_envs.core.env import Env
from tensor_envs.core.plan import Reset, Task
from tensor_envs.core.replay import Replay
from tensor_envs.core.state import State

Policy = Callable[[State], Any]  # -> integers [B], a Tensor or what NumPy takes
OPENINGS = 100  # games in a row that may end before the seat's first decision


class Seat:
    """One seat of B games, whose other seats are played by a policy.

    Between calls every game is over or has the seat to move. `state` is the state of all games; `observation`
    [B, *shape] (int8 for bool) and `action_mask` int8 [B, A], new arrays each time, are what the seat sees and may do;
    `terminated` and `truncated`, bool [B], say which games are over.

    Games need different numbers of the others' plies, but one kernel steps them all. Since a step leaves a finished
    game alone, a game in which the seat is to move waits for the others marked as finished, and as no game really ends:
    terminated and truncated at once.
    """

    def __init__(self, env: Env, batch: int, seat: int, policy: str | Policy, device: Any, reset: Reset):
        """reset: "next_step" if `step` starts the next episode of games that are over, else "none"."""
        instance("env", env, Env)
        if not callable(policy) and policy != "uniform":
            raise ValueError(f"policy must be 'uniform' or a function of a State, got {policy!r}")
        self.env, self.policy, self._reset = env, policy, reset
        self.batch, self.seat = batch, integer("seat", seat, 0, env.num_players - 1)
        self.device = resolve(device)
        self.state = state = env.init(batch, 0, self.device)
        self.terminated = self.truncated = np.zeros(batch, np.bool_)
        self._carried = np.zeros(
            batch
        )  # what openings have paid: the first steps of their episodes hand it out
        self._spare = [env.buffers(state.stream, state.lanes) for _ in range(2)]
        self._drawn = empty_buffer(batch, dtypes.int32, state.device)
        self._marked, self._unmarked = Kept(state, self._mark), Kept(state, self._unmark)
        self._seen, self._legal = Kept(state, self._observe), Kept(state, self._mask)

    def begin(self, seed: int) -> None:
        """New games, row r being game r of the seed."""
        everywhere = np.ones(self.batch, np.bool_)
        self._carried = self._settle(self.env.init(self.batch, seed, self.device), everywhere)

    def restart(self, rows: np.ndarray) -> None:
        """Start the next episode where `rows`, bool [B], is True."""
        paid = self._settle(self._restarted(self.state, rows), rows)
        self._carried = np.where(rows, paid, self._carried)

    def step(self, action: Any) -> np.ndarray:
        """Play an action of the seat's in every game, and the others' answers -> the seat's rewards, float64 [B].

        A game that is over pays 0 whatever the action.
        """
        actions = self.env.actions(self.state, action)
        begun = (self.terminated | self.truncated) & (self._reset == "next_step")
        paid = self._settle(self._run(self.state, "step", self._reset, actions), begun)
        rewards = np.where(begun, 0, paid + self._carried)
        self._carried = np.where(begun, paid, 0)
        return rewards

    def _settle(self, state: State, begun: np.ndarray) -> np.ndarray:
        """The others move until nobody waits for them -> what the seat was paid in its present games, float64 [B].

        A `begun` game that they end before the seat's first decision is no episode of the seat's: the next one starts.
        RuntimeError if that goes on and on.
        """
        paid = np.zeros(self.batch)
        for _ in range(OPENINGS):
            state = self._answered(state, paid)
            again = begun & (self.terminated | self.truncated)
            if not again.any():
                # a game that was marked as finished has lost its mask: "derive" works it out again
                self.state = self._run(state.replace(flags=self._unmarked(state)), "derive")
                return paid
            paid[again] = 0
            state = self._restarted(state, again)
        raise RuntimeError(
            f"{OPENINGS} games in a row ended before seat {self.seat} could move, in row {again.argmax()}"
        )

    def _answered(self, state: State, paid: np.ndarray) -> State:
        """The others move, ply by ply, until every game is over or waits for the seat; adds what each ply pays it.

        No rule bounds how often the others move in a row, so the loop looks at the flags. They are wanted on the host
        anyway, and reading them takes a fraction of a ply; a fixed number of plies would mostly step nobody.
        """
        while True:
            paid += state.table(state.reward_rows)[:, self.seat]
            state = state.replace(flags=self._marked(state))
            terminated, truncated = state.table(state.flags).T
            if (terminated | truncated).all():
                self.terminated, self.truncated = terminated & ~truncated, truncated & ~terminated
                return state
            if isinstance(self.policy, str):
                state = self._run(state, "uniform", actions=self._drawn)
            else:
                state = self._run(state, "step", actions=self.env.actions(state, self.policy(state)))

    def _run(self, state: State, task: Task, reset: Reset = "none", actions: Tensor | None = None) -> State:
        """A kernel's state, in the buffers that the last one is not in."""
        self._spare.reverse()
        return self.env.run(state, task, reset, actions=actions, out=self._spare[0])

    def _restarted(self, state: State, rows: np.ndarray) -> State:
        return self._run(state, "restart", actions=upload(rows.astype(np.int32), state.device))

    @property
    def observation(self) -> np.ndarray:
        return download(self._seen(self.state)).reshape(self.batch, *self.env.observation_shape)

    @property
    def action_mask(self) -> np.ndarray:
        return download(self._legal(self.state)).reshape(self.batch, self.env.num_actions)

    # *** Tensor expressions of a state ***

    def _mark(self, state: State) -> Tensor:
        """Flag rows in which games that wait for the seat look finished."""
        over = state.terminated | state.truncated
        waits = (state.current_player == self.seat) & over.logical_not()
        return _flag_rows(state, state.terminated | waits, state.truncated | waits)

    def _unmark(self, state: State) -> Tensor:
        """The true flag rows again."""
        one = state.terminated ^ state.truncated
        return _flag_rows(state, state.terminated & one, state.truncated & one)

    def _observe(self, state: State) -> Tensor:
        seen = self.env.observe(state, self.seat)
        return seen.cast(dtypes.int8) if seen.dtype is dtypes.bool else seen

    def _mask(self, state: State) -> Tensor:
        return state.legal_action_mask.cast(dtypes.int8)


def _flag_rows(state: State, terminated: Tensor, truncated: Tensor) -> Tensor:
    return Tensor.stack(terminated, truncated, dim=1).reshape(-1, state.lanes, 2).permute(0, 2, 1)


class Kept:
    """A Tensor expression of a State, worked out into the same flat buffer at every call.

    Each is a captured graph of its own, as every step is: single kernels are launched directly, in a sixth of the time
    that a graph of two takes.
    """

    def __init__(self, state: State, values: Callable[[State], Tensor]):
        env, lanes, like = state.env, state.lanes, values(state)
        self.buffer = empty_buffer(int(like.numel()), like.dtype, state.device)

        def work(*tensors: Tensor) -> None:
            tensors[-1].assign(values(State(env, tensors[:-1], lanes)).flatten()).realize()

        self._replay = Replay(work)

    def __call__(self, state: State) -> Tensor:
        self._replay(*state.tensors, self.buffer)
        return self.buffer

"""Many games in a loop: buffers owned and used again, finished games started again."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.arguments import host_integers
from tensor_envs.core.checks import instance, one_of
from tensor_envs.core.device import download, empty_buffer, is_capturing, write
from tensor_envs.core.env import Env
from tensor_envs.core.plan import Reset, Task
from tensor_envs.core.replay import Launch
from tensor_envs.core.state import State

RESETS: dict[str, Reset] = {"same_step": "same_step", "next_step": "next_step", "disabled": "none"}


class Transition:
    """What one step of a `VectorEnv` led to; RuntimeError when asked after the step after the next one.

    `actions` int32 [B], and of the step itself `rewards` float32 [B, P], `terminated` and `truncated` bool [B].
    """

    def __init__(self, vector: VectorEnv, before: State, after: State, actions: Tensor):
        self._vector, self._before, self._after, self._actions = vector, before, after, actions
        self._count = vector.count

    def _kept(self) -> State:
        if self._vector.count > self._count + 1:
            raise RuntimeError(
                "a transition must be read before the step after the next one of its VectorEnv"
            )
        return self._after

    @property
    def actions(self) -> Tensor:
        """In a buffer that the step after the next one writes again."""
        self._kept()
        return self._actions

    @property
    def rewards(self) -> Tensor:
        return self._kept().rewards

    @property
    def terminated(self) -> Tensor:
        return self._kept().terminated

    @property
    def truncated(self) -> Tensor:
        return self._kept().truncated

    def numpy(self) -> dict[str, np.ndarray]:
        """`actions`, `rewards`, `terminated` and `truncated` on the host, far cheaper than one by one."""
        after = self._kept()
        terminated, truncated = after.table(after.flags).T
        return {
            "actions": download(self._actions),
            "rewards": after.table(after.reward_rows),
            "terminated": terminated,
            "truncated": truncated,
        }

    @property
    def final_state(self) -> State:
        """The state that the step led to before finished games started again; worked out when asked for.

        RuntimeError once the next step has been made: the state before this one is gone then.
        """
        if self._vector.autoreset != "same_step":
            return self._kept()
        if self._vector.count != self._count:
            raise RuntimeError("final_state must be read before the next step of its VectorEnv")
        return self._vector.env.run(self._before, "step", actions=self._actions)

    def final_observation(self, player: Any = None) -> Tensor:
        """`observe` of the final state."""
        return self._vector.env.observe(self.final_state, player)


class VectorEnv:
    """B games of an environment that are stepped together in two sets of buffers, the fast path for loops.

    autoreset: "same_step": a finished game starts its next episode in the step that ends it; "next_step": in the step
    after, which ignores its action and pays nothing; "disabled": it stays until `reset`. Row r plays the episodes
    0, 1, 2, ... of row first_row + r of the seed. `state` is valid until the step after the next one.
    """

    def __init__(
        self,
        env: Env,
        num_envs: int,
        seed: int = 0,
        device: Any = None,
        autoreset: str = "same_step",
        first_row: int = 0,
    ):
        instance("env", env, Env)
        one_of("autoreset", autoreset, tuple(RESETS))
        self.env, self.num_envs, self.autoreset, self.count = env, num_envs, autoreset, 0
        self._adopt(env.init(num_envs, seed, device, first_row))

    def _adopt(self, first: State) -> None:
        """Go on from a state, writing into two sets of buffers in turns."""
        self._state = first
        self._out = [self.env.buffers(first.stream, first.lanes) for _ in range(2)]
        # With "same_step" no state is over: all keep the first one's flags, and a step's own go into its transition.
        same_step = self.autoreset == "same_step"
        self._states = [out.replace(flags=first.flags) if same_step else out for out in self._out]
        # In turns: actions drawn and given, and steps bound to what they read and write.
        self._drawn, self._given = (
            [empty_buffer(self.num_envs, dtypes.int32, first.device) for _ in range(2)] for _ in range(2)
        )
        self._bound: dict[tuple[Task, int], Launch] = {}

    @property
    def state(self) -> State:
        """The games as they are. Set it to go on from another state of the environment, which stays valid.

        With "same_step" its finished games start again at once. TypeError or ValueError for a state of another
        environment, batch or device.
        """
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        state, now = self.env.check_state(state), self._state
        if (state.batch, state.device) != (now.batch, now.device):
            raise ValueError(
                f"state must be of {now.batch} games on {now.device}, got {state.batch} on {state.device}"
            )
        self._adopt(self.env.reset(state) if self.autoreset == "same_step" else state)

    def step(self, action: Any) -> Transition:
        """Play one action in every game; `action` as in `Env.step`. RuntimeError inside a jit."""
        self._outside()
        if isinstance(action, Tensor) or self.env.illegal == "raise":
            return self._advance("step", self.env.actions(self.state, action))
        actions = self._given[self.count % 2]
        write(actions, host_integers("action", action, self.num_envs))
        return self._advance_bound("step", actions)

    def step_uniform(self) -> Transition:
        """Play one action of the uniform policy in every game, drawn in the same kernel; `actions` says which."""
        self._outside()
        return self._advance_bound("uniform", self._drawn[self.count % 2])

    def _advance_bound(self, task: Task, actions: Tensor) -> Transition:
        """The same with what has been looked up once, if the turn is an ordinary one."""
        turn, before = self.count % 2, self._state
        if before is not self._states[1 - turn]:
            return self._advance(task, actions)
        if (launch := self._bound.get((task, turn))) is not None:
            launch()
            self.count, self._state = self.count + 1, self._states[turn]
            return Transition(self, before, self._out[turn], actions)
        transition = self._advance(task, actions)
        self._bound[task, turn] = self.env.bound(
            before, task, RESETS[self.autoreset], actions, self._out[turn]
        )
        return transition

    def _advance(self, task: Task, actions: Tensor) -> Transition:
        turn, before = self.count % 2, self._state
        out = self.env.run(before, task, RESETS[self.autoreset], actions=actions, out=self._out[turn])
        self.count, self._state = self.count + 1, self._states[turn]
        return Transition(self, before, out, actions)

    def reset(self, mask: Any = None) -> State:
        """Start the next episode where `mask` (bool [B]; default: every finished game) is True -> the new state."""
        self._outside()
        self._state = self.env.reset(self._state, mask)
        return self._state

    def _outside(self) -> None:
        if is_capturing():
            message = "a VectorEnv cannot be stepped inside a jit, which would play one step for ever"
            raise RuntimeError(f"{message}: step its env there, env.reset(env.step(state, action))")

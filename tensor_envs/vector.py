"""Many games in a loop: buffers owned and stepped in place, finished games started again."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.capture import Launch
from tensor_envs._compiler.devices import DeviceName, stays_lazy, write
from tensor_envs._engine.batch_layout import MAX_BATCH, BatchBuffers
from tensor_envs._engine.engine import Observations
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.kernels.step import Step
from tensor_envs._engine.kernels.tracer import AutoReset
from tensor_envs._validate import instance, integer, one_of
from tensor_envs.env import Env
from tensor_envs.state import State

Autoreset = Literal["same_step", "next_step", "disabled"]
RESETS: dict[str, AutoReset] = {"same_step": "same_step", "next_step": "next_step", "disabled": "none"}


class Transition:
    """What one step of a `VectorEnv` led to; RuntimeError when asked after the next step.

    Attributes:
        actions: int32 [B], in a buffer that the next step writes again.
        rewards: float32 [B, P]: of the step itself, as are
        terminated, truncated: bool [B].
    """

    __slots__ = ("_actions", "_count", "_vector")

    def __init__(self, vector: VectorEnv, actions: Tensor):
        self._vector, self._actions, self._count = vector, actions, vector._count

    def _state(self) -> State:
        """The games after the step, with the step's own flags."""
        vector = self._vector
        if vector._count != self._count:
            raise RuntimeError("a transition must be read before the next step of its VectorEnv")
        return State(vector.env, vector.buffers)

    def __repr__(self) -> str:
        if self._vector._count != self._count:
            return "<Transition, gone with the next step>"
        now = self.numpy()
        ended = int((now["terminated"] | now["truncated"]).sum())
        return f"<Transition of {self._vector.num_envs} games on {self._vector.device}, {ended} ended>"

    @property
    def actions(self) -> Tensor:
        self._state()
        return self._vector.buffers.layout.column(self._actions)

    @property
    def rewards(self) -> Tensor:
        return self._state().rewards

    @property
    def terminated(self) -> Tensor:
        return self._state().terminated

    @property
    def truncated(self) -> Tensor:
        return self._state().truncated

    def numpy(self) -> dict[str, np.ndarray]:
        """`actions`, `rewards`, `terminated` and `truncated` on the host, far cheaper than one by one."""
        values, where = self._state().numpy(), self._vector.buffers.layout
        chosen = {name: values[name] for name in ("rewards", "terminated", "truncated")}
        return {"actions": where.table(self._actions)[:, 0], **chosen}

    @property
    def final_state(self) -> State:
        """The state that the step led to before finished games started again; worked out when asked for.

        RuntimeError unless the VectorEnv was made with final_states=True, which keeps the state before the step.
        """
        after, vector = self._state(), self._vector
        if vector.autoreset != "same_step":
            return State(vector.env, vector.engine.copy(after.buffers, live=False))
        if vector._before is None:
            raise RuntimeError(
                "final_state needs a VectorEnv made with final_states=True, which keeps what it takes"
            )
        before = vector.engine.copy(vector._before, live=True)  # whose flags are those of the step before
        return State(vector.env, vector.engine.step(before, self._actions))

    def final_observation(self, player: Any = None) -> Tensor:
        """`observe` of the final state."""
        return self._vector.env.observe(self.final_state, player)


class VectorEnv:
    """B games of an environment that are stepped together, in place: the fast path for loops.

    Row r plays the episodes 0, 1, 2, ... of row first_row + r of the seed.

    Args:
        env: the environment.
        num_envs: B.
        seed, device, first_row: as in `Env.init`.
        autoreset: "same_step": a finished game starts its next episode in the step that ends it; "next_step": in the
            step after, which ignores its action and pays nothing; "disabled": it stays until `reset`.
        observe: whether every step works out `observation` and `legal_action_mask`, in its own kernel.
        final_states: whether a transition's `final_state` can be asked for; costs a second set of buffers.
    """

    def __init__(
        self,
        env: Env,
        num_envs: int,
        seed: int = 0,
        device: DeviceName | None = None,
        autoreset: Autoreset = "same_step",
        first_row: int = 0,
        observe: bool = False,
        final_states: bool = False,
    ):
        instance("env", env, Env)
        instance("observe", observe, bool)
        instance("final_states", final_states, bool)
        one_of("autoreset", autoreset, tuple(RESETS))
        num_envs = integer("num_envs", num_envs, 1, MAX_BATCH)
        self.env, self.num_envs, self.autoreset = env, num_envs, autoreset
        self.engine, self._count = env.engine, 0
        self._keeps_old = final_states and autoreset == "same_step"
        first = env.init(num_envs, seed, device, first_row).buffers
        self._observations: Observations | None = self.engine.observations(first.layout) if observe else None
        self._adopt(first)

    def _adopt(self, games: BatchBuffers) -> None:
        """Go on from games whose buffer is this VectorEnv's own."""
        self.buffers = games
        self._before: BatchBuffers | None = None
        # a memory field's changes are not worked out before they are stored
        self._spare = self.engine.empty(games) if self._keeps_old or self.engine.game.has_memory else None
        where = games.layout
        self._drawn, self._given = (where.empty(1, dtypes.int32) for _ in range(2))
        self._launches: dict[Any, Launch] = {}
        self._snapshot: State | None = None
        if self._observations is not None:
            self.engine.write_observations(games, self._observations)

    def __repr__(self) -> str:
        return f"<VectorEnv of {self.num_envs} games of {self.env!r} on {self.device}, autoreset={self.autoreset!r}>"

    def __reduce__(self) -> Any:
        options = (self.autoreset, self._observations is not None, self._keeps_old)
        return _restored, (self.env, self.num_envs, self.device, *options, self.state)

    def __deepcopy__(self, memo: Any) -> VectorEnv:
        make, arguments = self.__reduce__()
        copy: VectorEnv = make(*arguments)
        return copy

    @property
    def device(self) -> DeviceName:
        """Where the games are: a name, or a tuple of them."""
        return self.buffers.device

    @property
    def state(self) -> State:
        """The games as they are now, in buffers of their own: a copy, made when first asked for after a step.

        Set it to go on from another state of the environment, which stays valid. With "same_step" its finished games
        start again at once. TypeError or ValueError for a state of another environment, batch or device.
        """
        if self._snapshot is None:
            live = self.autoreset == "same_step"  # whose flags are those of the last step's transition
            self._snapshot = State(self.env, self.engine.copy(self.buffers, live))
        return self._snapshot

    @state.setter
    def state(self, state: State) -> None:
        games, now = self.env.check_state(state).buffers, self.buffers
        if (games.batch, games.device) != (now.batch, now.device):
            raise ValueError(
                f"state must be of {now.batch} games on {now.device}, got {games.batch} on {games.device}"
            )
        self._outside()
        games = self.engine.reset(games) if self.autoreset == "same_step" else games
        if games.row_keys is now.row_keys:
            self.engine.copy(games, live=False, new=now.words)
            self._snapshot = self._before = None
            if self._observations is not None:
                self.engine.write_observations(now, self._observations)
        else:  # steps are bound to the rows' keys, too
            self._adopt(self.engine.copy(games, live=False))
        self._count += 1

    @property
    def observation(self) -> Tensor:
        """What the player to move sees now, [B, *observation_shape]; the next step writes it again."""
        return self._observed().observation

    @property
    def legal_action_mask(self) -> Tensor:
        """bool [B, A]: what may be played now; the next step writes it again."""
        return self._observed().legal_action_mask

    def numpy(self) -> dict[str, np.ndarray]:
        """`observation` and `legal_action_mask` on the host, far cheaper than by the Tensors' own `numpy`."""
        arrays, where = self._observed().arrays, self.buffers.layout
        shape = (self.num_envs, *self.env.observation_shape)
        return {
            "observation": where.table(arrays.observation).reshape(shape),
            "legal_action_mask": where.table(arrays.mask),
        }

    def _observed(self) -> Observations:
        if self._observations is None:
            raise RuntimeError("this needs a VectorEnv made with observe=True")
        return self._observations

    def step(self, action: Any) -> Transition:
        """Play one action in every game, in place.

        Args:
            action: as in `Env.step`.

        Returns:
            What the step led to, to be read before the next one.

        Raises:
            ValueError, TypeError: as in `Env.step`.
            RuntimeError: inside a jit.
        """
        self._outside()
        if isinstance(action, Tensor) or self.env.illegal == "raise":
            actions = self.env.action_buffer(
                self.state if self.env.illegal == "raise" else self._now(), action
            )
        else:
            actions, where = self._given, self.buffers.layout
            write(actions, where.padded(host_ints("action", action, self.num_envs)))
        return self._advance(Step(RESETS[self.autoreset]), actions)

    def step_uniform(self) -> Transition:
        """Play one action of the uniform policy in every game, drawn in the same kernel.

        Returns:
            What the step led to, to be read before the next one; its `actions` are those drawn.

        Raises:
            RuntimeError: inside a jit.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=64)
            >>> for _ in range(9):
            ...     transition = vector.step_uniform()
            >>> transition.rewards.shape, bool(vector.state.episode.numpy().all())
            ((64, 2), True)
        """
        self._outside()
        return self._advance(Step(RESETS[self.autoreset], uniform=True), self._drawn)

    def _now(self) -> State:
        return State(self.env, self.buffers)

    def _advance(self, kernel: Step, actions: Tensor) -> Transition:
        games, spare = self.buffers, self._spare
        if spare is not None:  # from one buffer into the other
            self._before, self.buffers, self._spare = games, games._replace(words=spare), games.words
        # what has been looked up once: a kernel and the buffers that it is bound to
        own = actions is self._given or actions is self._drawn
        key = (kernel.uniform, id(self.buffers.words)) if own else None
        launch = self._launches.get(key)
        if launch is None:
            seen = None if self._observations is None else self._observations.arrays
            old = None if spare is None else games.words
            arrays = Step.Arrays(self.buffers.words, old, games.row_keys, actions, seen)
            self.engine.run(kernel, games.layout, arrays)
            if own:
                self._launches[key] = self.engine.bind(kernel, games.layout, arrays)
        else:
            launch()
        self._count, self._snapshot = self._count + 1, None
        return Transition(self, actions)

    def reset(self, mask: Any = None) -> State:
        """Start next episodes.

        Args:
            mask: bool [B], the games that begin again; default: every finished one.

        Returns:
            The new state.

        Raises:
            ValueError, TypeError: a mask of another shape, dtype or device.
        """
        self._outside()
        self.state = self.env.reset(self.state, mask)
        return self.state

    def _outside(self) -> None:
        if stays_lazy():
            raise RuntimeError(
                "a VectorEnv cannot be stepped inside a jit, which would play one step for ever: step its env there, "
                "env.reset(env.step(state, action))"
            )


def _restored(
    env: Env, num_envs: int, device: Any, autoreset: Any, observe: bool, final_states: bool, state: State
) -> VectorEnv:
    vector = VectorEnv(env, num_envs, 0, device, autoreset, 0, observe, final_states)
    vector.state = state
    return vector

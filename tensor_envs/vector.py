"""Vectorised environments: batches that own their buffers, are stepped in place and reset finished games."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.capture import Launch
from tensor_envs._compiler.devices import DeviceName, download, is_cpu, stays_lazy, write
from tensor_envs._engine.batch_layout import MAX_BATCH, BatchBuffers
from tensor_envs._engine.engine import Observations
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.kernels.base import AutoReset
from tensor_envs._engine.kernels.step import Step
from tensor_envs._validate import instance, integer, one_of
from tensor_envs.env import Env
from tensor_envs.interop import to_torch
from tensor_envs.state import State

Autoreset = Literal["same_step", "next_step", "disabled"]
RESETS: dict[str, AutoReset] = {"same_step": "same_step", "next_step": "next_step", "disabled": "none"}


class Transition:
    """Result of a step of a `VectorEnv`. Reading it after the next step raises RuntimeError.

    Attributes:
        actions: int32 [B], in a buffer that the next step overwrites.
        rewards: float32 [B, P], of the step.
        terminated, truncated: bool [B], of the step.

    Examples:
        >>> transition = te.VectorEnv(te.make("tic_tac_toe"), num_envs=2).step([0, 4])
        >>> transition.actions.tolist(), transition.terminated.tolist()
        ([0, 4], [False, False])
    """

    __slots__ = ("_actions", "_count", "_vector")

    def __init__(self, vector: VectorEnv, actions: Tensor):
        self._vector, self._actions, self._count = vector, actions, vector._count

    def _state(self) -> State:
        """Return the games after the step, with the step's flags."""
        vector = self._vector
        if vector._count != self._count:
            raise RuntimeError("a transition must be read before the next step of its VectorEnv")
        return State(vector.env, vector.buffers)

    def __repr__(self) -> str:
        if self._vector._count != self._count:
            return "<Transition, invalidated by the next step>"
        values = self.numpy()
        ended = int((values["terminated"] | values["truncated"]).sum())
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
        """Return `actions`, `rewards`, `terminated` and `truncated` on the host, far cheaper than one by one."""
        values, layout = self._state().numpy(), self._vector.buffers.layout
        chosen = {name: values[name] for name in ("rewards", "terminated", "truncated")}
        return {"actions": layout.table(self._actions)[:, 0], **chosen}

    @property
    def final_state(self) -> State:
        """State after the step and before finished games were reset, computed when read.

        RuntimeError unless the VectorEnv was made with final_states=True, which keeps the state before the step.
        """
        after, vector = self._state(), self._vector
        if vector.autoreset != "same_step":
            return State(vector.env, vector.engine.copy(after.buffers, live=False))
        if vector._before is None:
            raise RuntimeError("final_state needs a VectorEnv made with final_states=True")
        before = vector.engine.copy(vector._before, live=True)  # its flags are of the previous step
        return State(vector.env, vector.engine.step(before, self._actions))

    def final_observation(self, player: Any = None) -> Tensor:
        """Return the observation of the final state, see `Env.observe`."""
        return self._vector.env.observe(self.final_state, player)


class VectorEnv:
    """Batch of B games that is stepped in place: the fast path for loops.

    Row r plays the episodes 0, 1, 2, ... of row first_row + r of the seed.

    Args:
        env: the environment.
        num_envs: B.
        seed, device, first_row: as in `Env.init`.
        autoreset: "same_step": a finished game starts its next episode in the step that ends it; "next_step": in the
            step after, which ignores its action and has rewards 0; "disabled": it stays until `reset`.
        observe: whether the kernel of a step also computes `observation` and `legal_action_mask`.
        final_states: whether a transition has a `final_state`; takes a second set of buffers.

    Raises:
        ValueError, TypeError: as in `Env.init`; another autoreset.

    Examples:
        >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=4, observe=True)
        >>> vector.step([0, 1, 2, 3]).rewards.shape, vector.observation.shape
        ((4, 2), (4, 2, 3, 3))
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
        self._final_states = final_states and autoreset == "same_step"
        first = env.init(num_envs, seed, device, first_row).buffers
        self._observations: Observations | None = self.engine.observations(first.layout) if observe else None
        self._adopt(first)

    def _adopt(self, buffers: BatchBuffers) -> None:
        """Continue with games whose buffer belongs to this VectorEnv."""
        self.buffers = buffers
        self._before: BatchBuffers | None = None
        # changes of a memory field are computed while they are stored, so they need another buffer
        self._spare = self.engine.empty(buffers) if self._final_states or self.engine.game.has_memory else None
        layout = buffers.layout
        self._sampled, self._uploaded = (layout.empty(1, dtypes.int32) for _ in range(2))
        self._launches: dict[Any, Launch] = {}
        # by the id of a state's buffer
        self._row_major: dict[int, tuple[Launch, dict[str, tuple[Tensor, tuple[int, ...]]]]] = {}
        self._exports: dict[int, dict[str, Any]] = {}
        self._snapshot: State | None = None
        if self._observations is not None:
            self.engine.write_observations(buffers, self._observations)

    def __repr__(self) -> str:
        return f"<VectorEnv of {self.num_envs} games of {self.env!r} on {self.device}, autoreset={self.autoreset!r}>"

    def __reduce__(self) -> Any:
        options = (self.autoreset, self._observations is not None, self._final_states)
        return _restored, (self.env, self.num_envs, self.device, *options, self.state)

    def __deepcopy__(self, memo: Any) -> VectorEnv:
        make, arguments = self.__reduce__()
        copy: VectorEnv = make(*arguments)
        return copy

    @property
    def device(self) -> DeviceName:
        """Name of the device, or a tuple of names."""
        return self.buffers.device

    @property
    def state(self) -> State:
        """Copy of the games, made when first read after a step.

        Setting it continues from another state of the environment, which stays valid; with "same_step" its finished
        games are reset. TypeError or ValueError for a state of another environment, batch or device.
        """
        if self._snapshot is None:
            live = self.autoreset == "same_step"  # the flags are those of the last transition
            self._snapshot = State(self.env, self.engine.copy(self.buffers, live))
        return self._snapshot

    @state.setter
    def state(self, state: State) -> None:
        buffers, current = self.env.check_state(state).buffers, self.buffers
        if (buffers.batch, buffers.device) != (current.batch, current.device):
            raise ValueError(
                f"state must be of {current.batch} games on {current.device}, got {buffers.batch} on {buffers.device}"
            )
        self._check_outside_jit()
        buffers = self.engine.reset(buffers) if self.autoreset == "same_step" else buffers
        if buffers.row_keys is current.row_keys:
            self.engine.copy(buffers, live=False, new=current.words)
            self._snapshot = self._before = None
            if self._observations is not None:
                self.engine.write_observations(current, self._observations)
        else:  # prepared launches are bound to the row keys
            self._adopt(self.engine.copy(buffers, live=False))
        self._count += 1

    @property
    def observation(self) -> Tensor:
        """Observation of the player to move, [B, *observation_shape]; the next step overwrites it."""
        return self._observed().observation

    @property
    def legal_action_mask(self) -> Tensor:
        """bool [B, A]: the legal actions; the next step overwrites it."""
        return self._observed().legal_action_mask

    def numpy(self) -> dict[str, np.ndarray]:
        """Return `observation` and `legal_action_mask` on the host, far cheaper than by `Tensor.numpy`.

        One more launch writes them game by game, which takes less time than to transpose those of the step.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=4, observe=True)
            >>> {name: array.shape for name, array in vector.numpy().items()}
            {'observation': (4, 2, 3, 3), 'legal_action_mask': (4, 9)}
        """
        return {name: download(flat).reshape(shape) for name, (flat, shape) in self._by_rows().items()}

    def torch(self) -> dict[str, Any]:
        """Return `observation` and `legal_action_mask` as `torch.Tensor`s.

        On "CPU" and "CUDA" they share memory with buffers that the next call of `torch` or `numpy` overwrites; on other
        devices they are copies.

        Raises:
            ImportError: without PyTorch.
            RuntimeError: without observe=True, or inside a jit; games on CUDA and a PyTorch without it.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=4, observe=True)
            >>> vector.torch()["observation"].shape  # doctest: +SKIP
            torch.Size([4, 2, 3, 3])
        """
        buffers, key = self._by_rows(), id(self.buffers.words)
        waits = not isinstance(self.device, str) or not is_cpu(self.device)  # for the launch, or copies
        if key not in self._exports or waits:
            self._exports[key] = {name: to_torch(flat.reshape(shape)) for name, (flat, shape) in buffers.items()}
        return dict(self._exports[key])

    def _by_rows(self) -> dict[str, tuple[Tensor, tuple[int, ...]]]:
        """Write `observation` and `legal_action_mask` game by game; return their flat buffers and shapes."""
        self._observed()
        self._check_outside_jit()
        key = id(self.buffers.words)
        if key not in self._row_major:
            launch, arrays = self.engine.bind_host_observations(self.buffers)
            shape, mask_shape = (self.num_envs, *self.env.observation_shape), (self.num_envs, self.env.num_actions)
            buffers = {"observation": (arrays.observation, shape), "legal_action_mask": (arrays.mask, mask_shape)}
            self._row_major[key] = launch, buffers
        launch, buffers = self._row_major[key]
        launch()
        return buffers

    def _observed(self) -> Observations:
        if self._observations is None:
            raise RuntimeError("this needs a VectorEnv made with observe=True")
        return self._observations

    def step(self, action: Any) -> Transition:
        """Play one action in every game, in place.

        Args:
            action: as in `Env.step`.

        Returns:
            The result of the step, to be read before the next one.

        Raises:
            ValueError, TypeError: as in `Env.step`.
            RuntimeError: inside a jit.
        """
        self._check_outside_jit()
        reads = self.env.illegal == "raise"  # the masks of a copy
        if isinstance(action, Tensor) or reads:
            actions = self.env.action_buffer(self.state if reads else State(self.env, self.buffers), action)
        else:
            actions, layout = self._uploaded, self.buffers.layout
            write(actions, layout.padded(host_ints("action", action, self.num_envs)))
        return self._advance(Step(RESETS[self.autoreset]), actions)

    def step_uniform(self) -> Transition:
        """Play one action of the uniform policy in every game, drawn in the same kernel.

        Returns:
            The result of the step, to be read before the next one, with the drawn `actions`.

        Raises:
            RuntimeError: inside a jit.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=64)
            >>> for _ in range(9):
            ...     transition = vector.step_uniform()
            >>> transition.rewards.shape, bool(vector.state.episode.numpy().all())
            ((64, 2), True)
        """
        self._check_outside_jit()
        return self._advance(Step(RESETS[self.autoreset], uniform=True), self._sampled)

    def _advance(self, kernel: Step, actions: Tensor) -> Transition:
        """Run a step in place, by a prepared launch if `actions` is one of this object's buffers."""
        buffers, spare = self.buffers, self._spare
        if spare is not None:  # from one buffer into the other
            self._before, self.buffers, self._spare = buffers, buffers._replace(words=spare), buffers.words
        # launches are prepared for a kernel and the buffers that it is bound to
        reusable = actions is self._uploaded or actions is self._sampled
        key = (kernel.uniform, id(self.buffers.words)) if reusable else None
        launch = self._launches.get(key)
        if launch is None:
            observations = None if self._observations is None else self._observations.arrays
            old = None if spare is None else buffers.words
            arrays = Step.Arrays(self.buffers.words, old, buffers.row_keys, actions, observations)
            self.engine.run(kernel, buffers.layout, arrays)
            if reusable:
                self._launches[key] = self.engine.bind(kernel, buffers.layout, arrays)
        else:
            launch()
        self._count, self._snapshot = self._count + 1, None
        return Transition(self, actions)

    def reset(self, mask: Any = None) -> State:
        """Start next episodes.

        Args:
            mask: bool [B], the games to reset; default: every finished one.

        Returns:
            The new state.

        Raises:
            ValueError, TypeError: a mask of another shape, dtype or device.
        """
        self._check_outside_jit()
        self.state = self.env.reset(self.state, mask)
        return self.state

    def _check_outside_jit(self) -> None:
        """Raise RuntimeError inside a jit."""
        if stays_lazy():
            raise RuntimeError(
                "a VectorEnv cannot be stepped inside a jit, which would replay one step: step its env there, "
                "env.reset(env.step(state, action))"
            )


def _restored(
    env: Env, num_envs: int, device: Any, autoreset: Any, observe: bool, final_states: bool, state: State
) -> VectorEnv:
    vector = VectorEnv(env, num_envs, 0, device, autoreset, 0, observe, final_states)
    vector.state = state
    return vector

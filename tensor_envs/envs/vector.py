"""Vectorised environments: batches that own their buffers, step in place and reset finished games."""

from __future__ import annotations

import importlib
import weakref
from typing import Any, get_args

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import MAX_BATCH, BatchBuffers
from tensor_envs._engine.inputs import card_ints, host_ints
from tensor_envs._engine.kernels.base import Autoreset
from tensor_envs._engine.kernels.observe import Outputs
from tensor_envs._engine.kernels.step import Step
from tensor_envs._runtime.buffers import address_of, host_memory, write
from tensor_envs._runtime.context import stays_lazy
from tensor_envs._runtime.cuda import Deferral, after_stream, before_stream, copy, is_cuda, on_card, order_deferred
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.exchange import (
    ExportInJitError,
    from_dlpack,
    from_numpy,
    keep_exports,
    to_dlpack,
    to_numpy,
    to_torch,
    torch_stream,
)
from tensor_envs._runtime.launcher import Launch, takes_external_memory
from tensor_envs._runtime.threads import synchronize
from tensor_envs._validate import instance, integer, one_of
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State

MAX_SPAN = 16  # largest span of row numbers that `reset` accepts with a seed, as a multiple of the number of games


class Transition:
    """Result of a step of a `VectorEnv`. Reading it after the next step raises RuntimeError.

    Attributes:
        actions: actions of the step, int32 [B], in a buffer that the next step overwrites, or in the caller's array.
        rewards: rewards of the step, float32 [B, P].
        terminated, truncated: whether a game ended in the step, by its rules or by a limit, bool [B].

    Examples:
        >>> transition = te.VectorEnv(te.make("tic_tac_toe"), num_envs=2).step([0, 4])
        >>> transition.actions.tolist(), transition.terminated.tolist()
        ([0, 4], [False, False])
    """

    __slots__ = ("_actions", "_count", "_vector")

    def __init__(self, vector: VectorEnv, actions: Any):
        self._vector = vector
        self._actions = actions
        self._count = vector._count

    def _state(self) -> State:
        """Return the games after the step, with the flags of the step."""
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
        if isinstance(self._actions, np.ndarray):
            return from_numpy(self._actions)
        if not isinstance(self._actions, Tensor):
            return from_dlpack(self._actions).cast(dtypes.int32)
        order_deferred(self._vector.device)
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
        """Return `actions`, `rewards`, `terminated` and `truncated` as NumPy arrays, much faster than one by one."""
        vector = self._vector
        state = self._state()
        values = vector.numpy() if vector.observes else state.numpy()
        actions = self._actions
        if isinstance(actions, np.ndarray):
            host_actions = actions.copy()
        elif not isinstance(actions, Tensor):
            host_actions = to_numpy(from_dlpack(actions)).astype(np.int32)
        else:
            host_actions = vector.buffers.layout.download(actions)[:, 0]
        return {"actions": host_actions} | {name: values[name] for name in ("rewards", "terminated", "truncated")}

    @property
    def final_state(self) -> State:
        """State after the step, before finished games were reset; it is computed when read.

        RuntimeError with "same_step" unless the VectorEnv was made with final_states=True, which stores the state
        before the step.
        """
        after = self._state()
        vector = self._vector
        if vector.autoreset != "same_step":
            return State(vector.env, vector.engine.copy(after.buffers, live=False))
        if not vector._final_states:
            raise RuntimeError("final_state needs a VectorEnv made with final_states=True")
        actions = self._actions
        assert vector._before is not None
        assert isinstance(actions, Tensor)  # with `final_states` arrays are copied
        before = vector.engine.copy(vector._before, live=True)  # clear the flags, which are of the previous step
        return State(vector.env, vector.engine.step(before, actions))

    def final_observation(self, player: Any = None) -> Tensor:
        """Return the observation of the final state, see `Env.observe`."""
        return self._vector.env.observe(self.final_state, player)


class VectorEnv:
    """Batch of B games that is stepped in place, which is the fastest way to play in a loop.

    Row r plays the episodes 0, 1, 2, ... of row first_row + r of the seed.

    Args:
        env: the environment.
        num_envs: number of games, B.
        seed, device, first_row: as in `Env.init`.
        autoreset: "same_step": a finished game starts its next episode in the step that ends it; "next_step": in the
            step after, which ignores its action and has rewards 0; "disabled": it stays as it is until `reset`.
        observe: whether the kernel of a step also writes the arrays that learners read: `observation`,
            `legal_action_mask`, and the results of `numpy` and `torch`.
        final_states: whether a transition has a `final_state`, which needs a second set of buffers.

    Raises:
        ValueError, TypeError: as in `Env.init`; another value of `autoreset`.

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
        one_of("autoreset", autoreset, get_args(Autoreset))
        num_envs = integer("num_envs", num_envs, 1, MAX_BATCH)
        self.env = env
        self.num_envs = num_envs
        self.autoreset = autoreset
        self.engine = env.engine
        self._count = 0  # number of steps and resets, by which a Transition detects that it is out of date
        self._final_states = final_states and autoreset == "same_step"
        first = env.init(num_envs, seed, device, first_row).buffers
        names = ("observation", "legal_action_mask") if first.layout.grid.gpu else Outputs._fields
        self._outputs = self.engine.outputs(first.layout, names) if observe else None
        self._rows: Outputs | None = None
        self._row_views: dict[str, Tensor] = {}
        self._rows_count = -1  # `_count` when the rows were written
        self._views: dict[str, Tensor] = {}
        self._host: dict[str, np.ndarray] | None = None
        self._torch: dict[str, Any] = {}
        self._adopt(first)
        if is_cuda(self.device):  # tinygrad may use the memory again
            weakref.finalize(self, order_deferred, self.device).atexit = False

    def _adopt(self, buffers: BatchBuffers) -> None:
        """Take over the buffers of games, and allocate those of a step."""
        self.buffers = buffers
        self._before: BatchBuffers | None = None
        # A memory field is read while its changes are stored, so a step of such a game writes another buffer.
        self._spare = self.engine.empty(buffers) if self._final_states or self.engine.game.has_memory else None
        layout = buffers.layout
        self._sampled = layout.empty(1, dtypes.int32)
        self._uploaded = layout.empty(1, dtypes.int32)
        # On CUDA, a buffer with the size of int64 actions stands for external ones when a launch is prepared.
        self._wide = layout.empty(2, dtypes.int32) if is_cuda(self.device) else self._uploaded
        self._upload_memory = host_memory(self._uploaded)
        # Kernels read whole blocks, so padded batches need a copy of the actions. A final state needs them later.
        is_padded = layout.rows > layout.batch
        self._reads_in_place = takes_external_memory(self.device) and not is_padded and not self._final_states
        outputs = () if self._outputs is None else (x for x in self._outputs if x is not None)
        memory = [array for output in outputs for array in host_memory(output)]
        self._output_addresses = [range(array.ctypes.data, array.ctypes.data + array.nbytes) for array in memory]
        self._launches: dict[Any, Launch] = {}
        self._row_launches: dict[int, Launch] = {}  # by the id of a state's buffer
        self._snapshot: State | None = None
        if self._outputs is not None:
            self.engine.write_outputs(buffers, self._outputs)

    def __repr__(self) -> str:
        return f"<VectorEnv of {self.num_envs} games of {self.env!r} on {self.device}, autoreset={self.autoreset!r}>"

    def __reduce__(self) -> Any:
        options = (self.autoreset, self._outputs is not None, self._final_states)
        games = State(self.env, self.engine.copy(self.buffers, live=False))  # with the rewards of the last step
        return _restored, (self.env, self.num_envs, self.device, *options, games)

    def __deepcopy__(self, memo: Any) -> VectorEnv:
        restore, arguments = self.__reduce__()
        copy: VectorEnv = restore(*arguments)
        return copy

    @property
    def observes(self) -> bool:
        """Whether a step also writes the arrays that learners read, see `numpy`."""
        return self._outputs is not None

    @property
    def device(self) -> DeviceName:
        """Name of the device, or a tuple of names."""
        return self.buffers.device

    @property
    def _on_cpu(self) -> bool:
        """Whether the games are on the device "CPU", whose memory other libraries can share."""
        return self.device == "CPU"

    @property
    def state(self) -> State:
        """Copy of the games, made when it is first read after a step.

        It can be set to another state of the environment, from which the next step continues; the state stays valid,
        and with "same_step" its finished games are reset. TypeError or ValueError for a state of another environment,
        batch or device.
        """
        self._check_outside_jit()
        if self._snapshot is None:
            live = self.autoreset == "same_step"  # clear the flags, which are of the last transition
            self._snapshot = State(self.env, self.engine.copy(self.buffers, live))
        return self._snapshot

    @state.setter
    def state(self, state: State) -> None:
        buffers = self.env.check_state(state).buffers
        current = self.buffers
        if (buffers.batch, buffers.device) != (current.batch, current.device):
            raise ValueError(
                f"state must be of {current.batch} games on {current.device}, got {buffers.batch} on {buffers.device}"
            )
        self._check_outside_jit()
        buffers = self.engine.reset(buffers) if self.autoreset == "same_step" else buffers
        if buffers.row_keys is current.row_keys:
            self._snapshot = self._before = None
            self.engine.copy(buffers, live=False, new=current.words)
            if self._outputs is not None:
                self.engine.write_outputs(current, self._outputs)
        else:
            # Prepared launches are bound to the old row keys, so all buffers are made anew.
            self._adopt(self.engine.copy(buffers, live=False))
        self._count += 1

    @property
    def observation(self) -> Tensor:
        """Observation of the player to move, [B, *observation_shape]; the next step or reset overwrites it."""
        return self._output("observation")

    @property
    def legal_action_mask(self) -> Tensor:
        """bool [B, A]: the legal actions; the next step or reset overwrites it."""
        return self._output("legal_action_mask")

    def _output(self, name: str) -> Tensor:
        """Return an output of the step. It is lazy if its shape or dtype differs from the stored one."""
        outputs = self._step_outputs()
        order_deferred(self.device)
        if name not in self._views:
            layout = self.buffers.layout
            view = self.engine.view(layout, outputs, name, by_lanes=layout.grid.gpu)
            self._views[name] = keep_exports(view) if self._on_cpu else view
        return self._views[name]

    def numpy(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Return the arrays that a learner reads after a step.

        Args:
            copy: whether to return new arrays. False: on a CPU device, read-only arrays in memory that the next step
                overwrites.

        Returns:
            `observation` [B, *observation_shape] and `legal_action_mask` bool [B, A] of the player to move,
            `rewards` float32 [B, P], `terminated` and `truncated` bool [B] of the last step, and `current_player`
            int32 [B].

        Raises:
            TypeError: `copy` is no bool.
            RuntimeError: the VectorEnv was made without observe=True; inside a jit.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=4, observe=True)
            >>> {name: array.shape for name, array in vector.numpy().items()}  # doctest: +NORMALIZE_WHITESPACE
            {'observation': (4, 2, 3, 3), 'legal_action_mask': (4, 9), 'rewards': (4, 2), 'terminated': (4,),
             'truncated': (4,), 'current_player': (4,)}
        """
        instance("copy", copy, bool)
        memory = self._memory()
        if memory:
            return {name: array.copy() for name, array in memory.items()} if copy else dict(memory)
        return {name: to_numpy(x, copy=True) for name, x in self._by_rows().items()}

    def torch(self) -> dict[str, Any]:
        """Return the arrays of `numpy` as `torch.Tensor`s.

        On "CPU" and "CUDA" they are the same tensors at every call, in memory that is overwritten: on "CPU" by the next
        step, on "CUDA" by the first call after it, in the order of PyTorch's current stream. On other devices they are
        copies.

        Raises:
            ImportError: PyTorch is not installed.
            RuntimeError: as in `numpy`; the games are on CUDA, and PyTorch has no support for it.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=4, observe=True)
            >>> vector.torch()["observation"].shape  # doctest: +SKIP
            torch.Size([4, 2, 3, 3])
        """
        if is_cuda(self.device):
            self._order_rows()
        elif not self._memory():
            return {name: to_torch(x) for name, x in self._by_rows().items()}
        if not self._torch:
            self._torch = {name: to_torch(x) for name, x in self._by_rows().items()}
        return dict(self._torch)

    def _order_rows(self) -> None:
        """Write the outputs after PyTorch's queued work, which may read the old ones, and before its later work."""
        device = str(self.device)
        stream = torch_stream(device)
        after_stream(device, stream)
        self._by_rows()
        before_stream(device, stream)

    def jax(self) -> dict[str, Any]:
        """Return the arrays of `numpy` as new `jax.Array`s, on the games' card or else on JAX's default device.

        Raises:
            ImportError: JAX is not installed.
            RuntimeError: as in `numpy`.

        Examples:
            >>> vector = te.VectorEnv(te.make("tic_tac_toe"), num_envs=4, observe=True)
            >>> vector.jax()["rewards"].shape  # doctest: +SKIP
            (4, 2)
        """
        try:
            jax = importlib.import_module("jax")
        except ImportError:
            raise ImportError("this needs JAX: pip install 'tensor_envs[jax]'") from None
        if not is_cuda(self.device):
            return {name: jax.numpy.asarray(x) for name, x in self.numpy().items()}
        # JAX's arrays are immutable, so the outputs are written to new buffers.
        self._step_outputs()
        self._check_outside_jit()
        layout = self.buffers.layout
        outputs = self.engine.outputs(self.buffers.layout, Outputs._fields)
        self.engine.bind_outputs(self.buffers, outputs)()
        views = {name: self.engine.view(layout, outputs, name, by_lanes=False) for name in Outputs._fields}
        return {name: jax.dlpack.from_dlpack(to_dlpack(view)) for name, view in views.items()}

    def _by_rows(self) -> dict[str, Tensor]:
        """Return the learner's arrays, [B, ...], as views of buffers that are stored game by game."""
        outputs = self._step_outputs()
        layout = self.buffers.layout
        self._check_outside_jit()
        # On a GPU the step writes observation and mask by lanes, so another kernel writes them game by game.
        if layout.grid.gpu:
            if self._rows is None:
                self._rows = self.engine.outputs(layout, Outputs._fields)
            outputs = self._rows
            key = id(self.buffers.words)
            if key not in self._row_launches:
                self._row_launches[key] = self.engine.bind_outputs(self.buffers, outputs)
            if self._rows_count != self._count:
                with Deferral(self.device):
                    self._row_launches[key]()
                self._rows_count = self._count
        if not self._row_views:
            names = Outputs._fields
            self._row_views = {name: self.engine.view(layout, outputs, name, by_lanes=False) for name in names}
        return self._row_views

    def _memory(self) -> dict[str, np.ndarray]:
        """Return the learner's arrays, [B, ...], without a copy; none if the host cannot read the device's memory."""
        self._step_outputs()
        self._check_outside_jit()
        if self._host is None:
            self._host = {name: to_numpy(x, copy=False) for name, x in self._by_rows().items()} if self._on_cpu else {}
        synchronize(self.device)
        return self._host

    def _step_outputs(self) -> Outputs:
        """Return the outputs of the step. RuntimeError without observe=True."""
        if self._outputs is None:
            raise RuntimeError("this needs a VectorEnv made with observe=True")
        return self._outputs

    def step(self, action: Any) -> Transition:
        """Play one action in every game, in place and in one launch.

        Args:
            action: as in `Env.step`. On one CPU device the kernel reads contiguous int32 arrays of NumPy and PyTorch
                without a copy, and on CUDA int32 and int64 arrays of PyTorch, JAX and CuPy on the card, if `num_envs`
                is a multiple of 64 (on a CPU also a power of two) and there are no `final_states`. Other arrays are
                copied, 4 bytes a game.

        Returns:
            The result of the step, to be read before the next one.

        Raises:
            ValueError, TypeError: as in `Env.step`.
            RuntimeError: inside a jit.
        """
        self._check_outside_jit()
        checks_actions = self.env.illegal == "raise"  # for which a copy of the games is downloaded
        if isinstance(action, Tensor) or checks_actions:
            state = self.state if checks_actions else State(self.env, self.buffers)
            return self._advance(Step(self.autoreset), self.env.action_buffer(state, action))
        if is_cuda(self.device) and on_card(action):
            return self._step_on_card(action)
        values = host_ints("action", action, self.num_envs)
        if (address := self._external_address(values)) is not None:
            return self._advance(Step(self.autoreset), values, address)
        if len(self._upload_memory) == 1:
            synchronize(self.device)
            self._upload_memory[0][: self.num_envs] = values
        else:
            write(self._uploaded, self.buffers.layout.padded(values))
        return self._advance(Step(self.autoreset), self._uploaded)

    def _step_on_card(self, action: Any) -> Transition:
        """Play the actions of another library's array on the card of the games."""
        array = card_ints("action", action, self.buffers.layout, wide=self._reads_in_place)
        kernel = Step(self.autoreset, wide=array.dtype is dtypes.int64)
        if self._reads_in_place:
            result = self._advance(kernel, array.owner, array.address)
        else:
            copy(array.device, address_of(self._uploaded), array.address, 4 * self.num_envs)
            result = self._advance(kernel, self._uploaded)
        array.keep_until_done()
        return result

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
        return self._advance(Step(self.autoreset, uniform=True), self._sampled)

    def _external_address(self, values: np.ndarray) -> int | None:
        """Return the address of an array of actions if the kernel can read it in place, else None.

        An array that overlaps the step's outputs cannot be read in place either.
        """
        if not (self._reads_in_place and self._on_cpu and values.flags.c_contiguous and values.flags.aligned):
            return None
        address = values.ctypes.data
        return None if any(address in addresses for addresses in self._output_addresses) else address

    def _advance(self, kernel: Step, actions: Any, *external: int) -> Transition:
        """Run a step, by a prepared launch unless the actions are in a buffer of the caller's.

        Args:
            kernel: the step.
            actions: a buffer, or another library's array.
            external: address of the actions, if they are read from another library's array.
        """
        buffers = self.buffers
        spare = self._spare
        # Step in place, or from one buffer into the other.
        after = buffers if spare is None else buffers._replace(words=spare)
        # Launches are prepared for a kernel and the buffers that it is bound to.
        bound = actions if isinstance(actions, Tensor) else self._wide if kernel.wide else self._uploaded
        reusable = external or bound is self._uploaded or bound is self._sampled
        key = (kernel.uniform, kernel.wide, len(external), id(after.words)) if reusable else None
        launch = self._launches.get(key)
        # Invalidate the snapshot before the launch: Ctrl-C may come at any point, and no old copy may be returned then.
        self._count += 1
        self._snapshot = None
        if launch is None:
            old = None if spare is None else buffers.words
            arrays = Step.Arrays(after.words, old, buffers.row_keys, bound, self._outputs)
            if external:
                launch = self._launches[key] = self.engine.bind(kernel, buffers.layout, arrays, bound)
                launch(*external)
            else:
                self.engine.run(kernel, buffers.layout, arrays)
                if reusable:
                    self._launches[key] = self.engine.bind(kernel, buffers.layout, arrays)
        elif is_cuda(self.device):
            with Deferral(self.device):
                launch(*external)
        else:
            launch(*external)
        if spare is not None:
            self._before = buffers
            self._spare = buffers.words
            self.buffers = after
        return Transition(self, actions)

    def reset(self, mask: Any = None, seed: int | None = None) -> State:
        """Start next episodes, or with a seed all games from episode 0 of the same rows of that seed.

        Args:
            mask: bool [B], the games to reset; None: every finished game.
            seed: 0..2^64-1; None keeps the seed. With a seed all games start, so `mask` must be None.

        Returns:
            The new state.

        Raises:
            ValueError, TypeError: a mask of another shape, dtype or device; a seed out of range or together with a
                mask; a seed if the games' rows are too far apart.

        Examples:
            >>> vector = te.VectorEnv(te.make("leduc_poker"), num_envs=3, seed=1)
            >>> vector.reset(seed=2).cards.tolist() == te.make("leduc_poker").init(3, seed=2).cards.tolist()
            True
        """
        self._check_outside_jit()
        if seed is None:
            self.state = self.env.reset(self.state, mask)
        elif mask is not None:
            raise ValueError("mask must be None beside a seed, which starts all games")
        else:
            rows = self.buffers.layout.download(self.buffers.row_keys)[:, 2].astype(np.int64)
            first = int(rows.min())
            count = int(np.ptp(rows)) + 1
            if count > MAX_SPAN * len(rows):
                raise ValueError(f"seed must be None for games of rows that are far apart, from {first} on, got {seed}")
            # Start all games of the span, and take those of the rows if they are not consecutive.
            games = self.env.init(max(count, len(rows)), seed, self.device, first)
            in_order = np.array_equal(rows, np.arange(first, first + len(rows)))
            self.state = games if in_order else games[(rows - first).astype(np.int32)]
        return self.state

    def _check_outside_jit(self) -> None:
        """Raise RuntimeError inside a jit."""
        if stays_lazy():
            raise ExportInJitError(
                "a VectorEnv cannot be stepped inside a jit, which would replay one step: step its env there, "
                "env.reset(env.step(state, action))"
            )


def _restored(
    env: Env, num_envs: int, device: Any, autoreset: Any, observe: bool, final_states: bool, state: State
) -> VectorEnv:
    """Return a pickled VectorEnv."""
    vector = VectorEnv(env, num_envs, 0, device, autoreset, 0, observe, final_states)
    vector._adopt(state.buffers)
    return vector

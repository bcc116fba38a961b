"""The CUDA and Metal text of all kernels computes the CPU's results, bit for bit."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.dtype import _from_np_dtype
from tinygrad.runtime.support.elf import elf_loader

import tensor_envs as te
from tensor_envs._compiler.arithmetic import add, choose, const, equal, maximum, minimum
from tensor_envs._compiler.dialects import CUDA, GPU, Metal
from tensor_envs._compiler.tape import INT32, Tape, record
from tensor_envs._engine import batch_layout
from tensor_envs._engine import engine as engine_module
from tensor_envs._engine.batch_layout import BlockGrid
from tensor_envs._engine.engine import Engine
from tensor_envs._engine.kernels.observe import Observe
from tensor_envs._engine.kernels.until import PlayUntil
from tensor_envs._runtime.buffers import download, empty_buffer, write
from tensor_envs._runtime.pytree import flatten_arrays
from tensor_envs.search import runners
from tensor_envs.search.kernels import ExpandAndSelect
from tensor_envs.search.memory import SearchConfig
from tensor_envs.search.records import Params
from tests import nvrtc
from tests.shim.emulator import POISON, Kernel, KernelFault, load

BATCH = 70  # two blocks, the second padded
LIMIT = 9  # actions of a playout
SPREAD = 8  # workgroups a block
FAST = {"CUDA": ("hex", "kuhn_poker", "tic_tac_toe"), "Metal": ("kuhn_poker", "tic_tac_toe")}
SEARCHED = ("kuhn_poker", "tic_tac_toe")  # with and without what is hidden
LANGUAGES = {language.__name__: language for language in (CUDA, Metal)}


class Launch(NamedTuple):
    """A launch on the CPU.

    Attributes:
        name: the kernel's name, with a number for its options.
        record: returns the kernel's tape for a GPU, given its parameters and the language.
        search: options of a search; its trees are the first arrays.
        params: number of the array of its parameters.
        noise: number of the array of the roots' noise.
        before, after: all arrays before and after the launch, as a GPU stores them.
    """

    name: str
    record: Callable[..., Tape]
    search: SearchConfig | None
    params: int | None
    noise: int | None
    before: list[np.ndarray]
    after: list[np.ndarray]


class Watched:
    """Launcher of a kernel that records its launches."""

    def __init__(
        self,
        launcher: Any,
        launches: list[Launch],
        launch_header: tuple[str, Any, SearchConfig | None, int | None, int | None],
        by_lanes: Sequence[int],
        grid: BlockGrid,
    ):
        self.launcher, self.launches, self.launch_header = launcher, launches, launch_header
        self.by_lanes, self.blocks, self.lanes = by_lanes, grid.blocks, grid.lanes

    def __call__(self, arguments: Sequence[Tensor], *external: Tensor) -> Callable[[], None]:
        assert not external
        return functools.partial(self._launch, self.launcher(arguments), arguments)

    def _launch(self, launch: Callable[[], object], tensors: Sequence[Tensor]) -> None:
        arrays = tensors[:-1]  # the last ones are the blocks to play
        before = self._stored(arrays)
        launch()
        self.launches.append(Launch(*self.launch_header, before, self._stored(arrays)))

    def _stored(self, arrays: Sequence[Tensor]) -> list[np.ndarray]:
        """Return the arrays; those that only a GPU stores by lanes are rearranged."""
        stored = [download(x) for x in arrays]
        for k in self.by_lanes:
            stored[k] = stored[k].reshape(self.blocks, self.lanes, -1).transpose(0, 2, 1).ravel()
        return stored


def watch(env: te.Env) -> list[Launch]:
    """Return a list to which all later launches of an environment are added."""
    engine: Any = Engine(env.engine.game.rules)  # of its own: those of other tests have no watched launchers
    env.engine = engine
    create, launches, names = engine._launcher, list[Launch](), dict[Any, str]()

    def watched(kernel: Any, grid: Any, device: Any, arrays: Any) -> tuple[Watched, list[Tensor]]:
        launcher, arguments = create(kernel, grid, device, arrays)
        name = names.setdefault((launcher, grid), f"{kernel.name}_{len(names)}")
        # searches of few games on a card are spread over several workgroups a block
        spread = SPREAD if hasattr(kernel, "config") else 1
        width = kernel.config.width(env.spec) if isinstance(kernel, ExpandAndSelect) else 0

        def record(parameters: Any, language: type[GPU]) -> Tape:
            team = runners.team_of(width) if width and language is CUDA else 1
            of_gpu = replace(grid, gpu=True, workgroups=spread, team=team)
            tape: Tape = engine.recorder(kernel, of_gpu, flatten_arrays(arrays)[0])(parameters, True)
            return tape

        params, noise = (
            next((k for k, x in enumerate(arguments) if x is getattr(arrays, array, None)), None)
            for array in ("params", "root_noise")
        )
        header = name, record, getattr(kernel, "config", None), params, noise
        by_rows = isinstance(kernel, (Observe, PlayUntil)) and getattr(kernel, "lanes", True)
        out = None if by_rows else getattr(arrays, "out", None)
        named = () if out is None else [x.uop for x in (out.observation, out.legal_action_mask) if x is not None]
        by_lanes = [k for k, x in enumerate(arguments) if x.uop in named]
        return Watched(launcher, launches, header, by_lanes, grid), arguments

    engine._launcher = watched
    return launches


def poisoned(*arguments: Any) -> Tensor:
    """Return an uninitialised buffer with bytes that no kernel may depend on."""
    buffer = empty_buffer(*arguments)
    write(buffer, np.full(buffer.nbytes(), POISON, np.uint8))
    return buffer


def actions_of(state: te.State, ply: int) -> np.ndarray:
    """Return actions of the uniform policy, with some illegal ones in later plies."""
    actions = te.agents.uniform(state).numpy()
    if ply == 12:
        actions[::11], actions[5::11] = state.env.num_actions, -1
    return actions


def play(env: te.Env) -> None:
    """Launch the kernels of steps, resets, copies, observations, rollouts and playouts."""
    middle = state = env.init(BATCH, seed=3, first_row=2**31 - 3)
    for ply in range(20):
        state = env.step(state, actions_of(state, ply))
        middle = state if ply == 2 else middle
    env.reset(state)
    env.reset(middle, np.arange(BATCH) % 3 == 1)
    env.take(middle, np.arange(BATCH)[::-1])
    for player in (None, env.num_players - 1, np.arange(BATCH) % env.num_players):
        env.observe(middle, player)
    middle.legal_action_mask  # noqa: B018
    step_vector(te.VectorEnv(env, BATCH, 4, observe=True))
    te.rollout_from(middle, "uniform", 60)
    te.playout(middle, 3, seed=1, limit=LIMIT)


def step_vector(vector: te.VectorEnv) -> None:
    for ply in range(20):
        vector.step(actions_of(vector.state, ply)) if ply % 2 == 0 else vector.step_uniform()


def play_vectors(env: te.Env) -> None:
    """Launch the kernels of all forms of `VectorEnv`, of the other rollout, and of reading a state."""
    for autoreset, more in itertools.product(("same_step", "next_step", "disabled"), (False, True)):
        step_vector(te.VectorEnv(env, BATCH, 4, None, autoreset, observe=more, final_states=more))  # type: ignore[arg-type]
    state = te.rollout_from(env.init(BATCH, seed=5), "uniform", 3, autoreset="disabled").state
    te.rollout_from(state, "uniform", 60, autoreset="disabled")
    te.rollout_from(state, "uniform", 60, autoreset="disabled", count_actions=True)
    env.events(state, actions_of(state, 1))
    env.engine.refresh(state.buffers)
    for name in (*env.spec_fields, "rewards", "truncated", "action_key"):
        getattr(state, name)


def search(env: te.Env) -> None:
    """Launch the kernels of searches by playouts and with a network."""
    state = searched_state(env)
    te.search.playout_policy(state, 6, seed=1, limit=LIMIT)
    te.search.gumbel_muzero_policy(state, network(env), 4, seed=2)


def search_more(env: te.Env) -> None:
    """Launch the kernels of searches that return trees, resume them, or add noise."""
    state = searched_state(env)
    result = te.search.playout_policy(state, 6, seed=2, limit=LIMIT, keep_tree=True)
    tree = te.search.subtree(result.search_tree, result.action)
    state = env.step(state, result.action)
    te.search.playout_policy(state, 6, seed=3, limit=LIMIT, tree=tree, count_actions=True)
    te.search.muzero_policy(state, network(env), 4, seed=2)


def searched_state(env: te.Env) -> te.State:
    state = env.init(BATCH, seed=6)
    return env.step(state, te.agents.uniform(state))


def network(env: te.Env) -> Callable[[te.State], tuple[Tensor, Tensor]]:
    """Return a network of one layer: equal positions, which fill the last chunk of a batch, have equal outputs."""
    inputs, outputs = math.prod(env.observation_shape), env.num_actions + env.num_players
    layer = Tensor(np.random.default_rng(5).uniform(-1, 1, (inputs, outputs)).astype(np.float32) / inputs).realize()

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        out = env.observe(state).reshape(state.batch, -1).float() @ layer
        return out[:, : env.num_actions], out[:, env.num_actions :]

    return evaluate


Task = Callable[[te.Env], None]
TASKS: dict[Task, set[str]] = {  # with the kernels that each launches
    play: {"seed", "init", "sample", "step", "uniform", "reset", "gather", "observe", "rollout", "playout"},
    play_vectors: {"step", "uniform", "copy", "rollout", "refresh", "read"},
    search: {"search", "init_root", "gather_noise", "expand_and_select", "finalize"},
    search_more: {"search", "init_root", "gather_noise", "expand_and_select", "finalize"},
}


@functools.lru_cache(1)
def launches_of(game: str, task: Task) -> list[Launch]:
    """Return the launches of a task on the CPU."""
    env = te.make(game)
    launches = watch(env)
    with pytest.MonkeyPatch.context() as patch:
        for module in (engine_module, batch_layout, runners):
            patch.setattr(module, "empty_buffer", poisoned)
        task(env)
    return launches


def kernels_of(launches: list[Launch], language: type[GPU]) -> dict[str, Kernel]:
    """Record and print all kernels for a GPU."""
    kernels = {}
    for name, launch in {x.name: x for x in launches}.items():
        tape = launch.record([(_from_np_dtype(x.dtype), x.size) for x in launch.before], language)
        kernels[name] = Kernel(language(tape).source(name), tape, language)
    return kernels


def assert_same(launches: list[Launch], kernels: dict[str, Kernel]) -> None:
    """Compile and run kernels, and compare the arrays after each launch with the CPU's.

    The layout of trees depends on the device, so a search has separate trees here. Its leaves, its results and the
    trees that it resumes or returns are compared, except their `nodes`, which contain steps. The roots' noise is not:
    vectors of a CPU also write its padding, which nothing reads.
    """
    run = load(kernels)
    trees: dict[SearchConfig, list[np.ndarray]] = {}
    for name, _, search, params, noise, before, expected in launches:
        if search is None or params is None:
            after, own = run(name, before), set[int]()
        else:
            after = run(name, [*trees.get(search, before[:3]), *before[3:]])
            trees[search], own = after[:3], {1} if before[params][Params.separate.index] else {0, 1, 2}
            own |= set() if noise is None else {noise}
        for k, (x, y) in enumerate(zip(after, expected, strict=True)):
            if k not in own and x.tobytes() != y.tobytes():
                raise AssertionError(f"{name}: data{k} differs from the CPU's, {(x != y).sum()} of {x.size}")


def cases() -> Iterator[Any]:
    for game, task, language in itertools.product(te.registered(), TASKS, LANGUAGES):
        slow = game not in FAST[language] or task not in (play, search) or (task is search and game not in SEARCHED)
        marks = [pytest.mark.slow] if slow else []
        yield pytest.param(game, task, language, marks=marks, id=f"{game}-{task.__name__}-{language}")


@pytest.mark.few("tic_tac_toe-search-Metal")
@pytest.mark.parametrize(("game", "task", "language"), list(cases()))
def test_same_as_on_the_cpu(game: str, task: Task, language: str) -> None:
    launches = launches_of(game, task)
    kernels = kernels_of(launches, LANGUAGES[language])
    assert {name.rpartition("_")[0] for name in kernels} >= TASKS[task]
    changes = {x.name for x in launches for a, b in zip(x.before, x.after, strict=True) if a.tobytes() != b.tobytes()}
    assert changes == kernels.keys()
    assert_same(launches, kernels)


LOAD, STORE, END = r"= (data\d)\[(.+)\];", r"(data\d)\[(.+)\] = ", r"\n}\n$"
PLANTED = {  # a pattern of a kernel's text, its replacement, and the error that must follow
    "a wrong operator": (r"\^", "|", "data. differs"),
    "a wrong choice": (r"\?([^:?]+):([^)]+)\)", r"?\2:\1)", "data. differs"),
    "a store after an array": (STORE, r"\1[\2+8192] = ", r"data\d\[\d"),
    "a store before an array": (STORE, r"\1[\2-8192] = ", r"data\d\[-"),
    "a load after an array": (LOAD, r"= \1[\2+8192];", r"data\d\["),
    "a store after registers": (r"(r\d)\[(.+)\] = ", r"\1[\2+99] = ", r"r\d\["),
    "a store to an input": (END, "\n  data2[0] = 1u;\n}\n", "const"),
    "a word of another language": (END, "\n  barrier();\n}\n", "barrier"),
    "an overflow": (END, "\n  int x = data4[0] + 2147483647;\n}\n", r"signed \+"),
}


@pytest.mark.few(9)
@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.parametrize("language", LANGUAGES)
def test_planted_faults_are_found(fault: str, language: str) -> None:
    pattern, replacement, message = PLANTED[fault]
    launches = [x for x in launches_of("tic_tac_toe", play) if x.name.startswith("rollout")]
    ((name, kernel),) = kernels_of(launches, LANGUAGES[language]).items()
    assert_same(launches, {name: kernel})
    text, count = re.subn(pattern, replacement, kernel.text, count=1)
    assert count == 1
    with pytest.raises((AssertionError, KernelFault), match=message):
        assert_same(launches, {name: kernel._replace(text=text)})


TEAM_FAULTS = {  # in a kernel whose games have teams of threads: pattern, replacement, and the error that must follow
    "no waiting": (r"__syncwarp\(MEMBERS\);", "", "differs|apart"),
    "threads apart": (r"__syncwarp\(MEMBERS\);", "if (threadIdx.x % 2) { __syncwarp(MEMBERS); }", "of a team apart"),
    "a number of one thread": (r"= team_max\(", "= (", "differs"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("fault", TEAM_FAULTS)
def test_faults_planted_in_teams_are_found(fault: str) -> None:
    launches = [x for x in launches_of("tic_tac_toe", search) if x.search and x.search.selection.uses_network]
    kernels = kernels_of(launches, CUDA)
    (name,) = (name for name in kernels if name.startswith("expand_and_select"))
    assert kernels[name].tape.team > 1
    pattern, replacement, message = TEAM_FAULTS[fault]
    text, count = re.subn(pattern, replacement, kernels[name].text)
    assert count
    with pytest.raises((AssertionError, KernelFault), match=message):
        assert_same(launches, {**kernels, name: kernels[name]._replace(text=text)})


def test_a_team_compiles_for_a_card() -> None:
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    launches = [x for x in launches_of("tic_tac_toe", search) if x.name.startswith("expand_and_select")]
    ((_, kernel),) = kernels_of(launches, CUDA).items()
    assert kernel.tape.team > 1 and "team_max" in kernel.text
    assert nvrtc.compiled(kernel.text, "sm_90", "CUBIN")


# *** a mistake of NVIDIA's assembler ***

VIMNMX, RELU, PREDICATES = 0x48, 1 << 12, 0x3F << 17  # of an instruction of sm_90: opcode, max with 0, two outputs


def has_wrong_predicate(cubin: bytes) -> bool:
    """Return whether a kernel takes the predicate of max(min(x, y), 0) for min(x, y) == y."""
    code = b"".join(section.content for section in elf_loader(cubin)[1] if section.name.startswith(".text."))
    return any(
        low & 0xFF == VIMNMX and high & RELU and high & PREDICATES != PREDICATES
        for low, high in struct.iter_unpack("<QQ", code)
    )


def test_a_clamped_number_equals_its_bound() -> None:
    """The assembler of NVRTC 12.8 to 13.0 compares wrongly for sm_90; kernels that clamp have another form."""
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    wrong = "(data1[0]<10?data1[0]:10)<0?0:(data1[0]<10?data1[0]:10)"
    text = 'extern "C" __global__ void f(int *data0, int *data1) {{ int v = {}; data0[0] = v==10?77:v<<3; }}'
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (12, 8) <= (major.value, minor.value) <= (13, 0):
        assert has_wrong_predicate(nvrtc.compiled(text.format(wrong), "sm_90", "CUBIN"))
    for offset, order, constant in ((0, 1, True), (0, -1, True), (3, 1, True), (0, 1, False)):
        tape = Tape([(INT32, 1), (INT32, 2)], gpu=True)
        with record(tape):
            zero, one = const(0, INT32), const(1, INT32)
            x = add(tape.load(tape.arrays[1], zero), const(offset, INT32))
            bound = const(10, INT32) if constant else tape.load(tape.arrays[1], one)
            clamped = maximum(*(minimum(x, bound), zero)[::order])
            tape.store(tape.arrays[0], zero, choose(equal(clamped, bound), const(77, INT32), add(clamped, clamped)))
        assert not has_wrong_predicate(nvrtc.compiled(CUDA(tape).source("f"), "sm_90", "CUBIN"))

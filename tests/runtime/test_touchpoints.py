"""Uses of tinygrad beyond its public names: a test for each row of `_runtime/README.md`."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, TinyJit, UOp, dtypes

from tensor_envs._runtime.buffers import upload
from tensor_envs._runtime.clang import cpu_compiler
from tensor_envs._runtime.opening import open_device

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tensor_envs"
PAGE = (PACKAGE / "_runtime" / "README.md").read_text()
ROWS = re.findall(r"^\| ([a-z ]+) \| (.*?) \| (.*?) \|", PAGE.partition("## What leans")[2], re.M)[1:]
PUBLIC = {"Tensor", "TinyJit", "Device", "dtypes", "DType", "UOp", "GlobalCounters", "nn", "tqdm", "TRAINING"}


def increment(device: str = "CPU") -> Any:
    """Return a captured TinyJit of x + 1."""
    jit: Any = TinyJit(lambda x: (x + 1).realize())
    for k in range(3):
        jit(upload(np.full(4, k, np.int32), device))
    return jit


def test_rows() -> None:
    """Every row has its test, and there are at most eight rows."""
    tests = {name.removeprefix("test_") for name, x in globals().items() if name.startswith("test_") and callable(x)}
    assert 0 < len(ROWS) <= 8 and {item.replace(" ", "_") for item, *_ in ROWS} <= tests


def test_every_import_is_listed() -> None:
    listed, imported = set(re.findall(r"\w+", " ".join(names for _, names, _ in ROWS))), set()
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "from tinygrad" in text else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tinygrad":
                imported |= {alias.name for alias in node.names} - PUBLIC
    assert {"buffers", "ProgramInfo", "get_runtime"} <= imported and not imported - listed - {"realize"}


def test_every_file_is_listed() -> None:
    for room in ("_compiler", "_runtime"):
        files = {path.name for path in (PACKAGE / room).iterdir() if path.suffix in (".py", ".c")}
        page = (PACKAGE / room / "README.md").read_text()
        assert files - {"__init__.py"} == set(re.findall(r"^\| `(\w+\.py)`", page, re.M)) | set(
            re.findall(r"`(\w+\.c)`", page)
        ), room


def test_finished_programs() -> None:
    """`custom_kernel` runs a PROGRAM with source and binary unchanged."""
    from tensor_envs._runtime.programs import compile_tape
    from tensor_envs.rules.kernel import Cells, loop, trace

    def body(x: Cells) -> None:
        with loop(4) as k:
            x[k] = x[k] + 5

    _, program = compile_tape("add_5", trace(body, [(dtypes.int32, 4)]), Device["CPU"].renderer, [4])
    made = program()
    assert [u.op.name for u in made.src] == ["SINK", "LINEAR", "SOURCE", "BINARY"], "a PROGRAM has other parts"
    after = Tensor.custom_kernel(upload(np.arange(4, dtype=np.int32), "CPU"), fxn=lambda *_: made)[0]
    assert after.tolist() == [5, 6, 7, 8], "custom_kernel no longer runs a finished PROGRAM"


def test_graphs() -> None:
    """tinygrad's in-memory cache accepts programs for the kernels of a graph."""
    from tinygrad.codegen import do_to_program, to_program_cache, to_program_key
    from tinygrad.engine.realize import run_linear

    x = upload(np.arange(6, dtype=np.int32), open_device("CPU")) * 7
    linear, variables = Tensor.linear_with_vars(x)
    renderer = Device["CPU"].renderer
    (ast_node,) = {u.src[0] for u in linear.toposort() if u.op.name == "CALL" and u.src[0].op.name == "SINK"}
    program = do_to_program(ast_node, renderer)
    assert [u.op.name for u in program.src] == ["SINK", "LINEAR", "SOURCE", "BINARY"], "a PROGRAM has other parts"
    to_program_cache[to_program_key(ast_node, renderer)] = program
    run_linear(linear, variables)
    assert x.tolist() == [0, 7, 14, 21, 28, 35]


def test_captures() -> None:
    """A TinyJit has its calls in `captured.linear`, with PARAMs for its arguments."""
    from tinygrad.engine.realize import capturing, get_call_arg_uops, get_call_outs_ins

    jit = increment()
    (call,) = jit.captured.linear.src
    names = [u.op.name for u in get_call_arg_uops(call)]
    assert sorted(names) == ["BUFFER", "PARAM"], "captured calls have other arguments"
    ((written,), _) = get_call_outs_ins(call)
    assert names[written] == "BUFFER" and not capturing
    seen: list[bool] = []
    graphs: list[Any] = []

    def add_1(x: Tensor) -> Tensor:
        seen.append(bool(capturing))
        return (x + 1).realize()

    def add(*graph: Any) -> None:
        graphs.append(graph)
        add_linear(*graph)

    one: Any = TinyJit(add_1)
    one.cnt, add_linear, one.add_linear = 1, one.add_linear, add
    one(upload(np.zeros(4, np.int32), "CPU"))
    assert seen == [True] and len(graphs) == 1, "TinyJit captures in another way"


def test_launches() -> None:
    """A captured program runs on other buffers through its runtime, and on the CPU also through its address."""
    from tinygrad.engine.realize import get_runtime
    from tinygrad.runtime.ops_cpu import CPUProgram

    from tensor_envs._runtime.buffers import buffer_of, shards

    program = increment().captured.linear.src[0].src[0]
    groups, threads = program.arg.launch_dims({})
    new, old = (upload(np.full(4, k, np.int32), "CPU") for k in (0, 6))
    memory = [shards(u)[0].get_buf("CPU") for u in map(buffer_of, (new, old)) if u is not None]
    run = get_runtime("CPU", program)
    assert isinstance(run, CPUProgram) and run.addr and all(m.va_addr for m in memory)
    run(*memory, global_size=groups, local_size=threads, vals=program.arg.vals({"_device_num": 0}))
    assert new.tolist() == [7, 7, 7, 7], "a runtime takes other arguments"


def test_buffers() -> None:
    """`buffers` maps a node to its buffer, whose allocator copies from and to the host."""
    from tinygrad.uop.ops import buffers

    node = UOp.new_buffer("CPU", 4, dtypes.int32)
    memory: Any = node.buffer
    assert buffers[node] == memory, "`buffers` has another entry"
    memory.allocate()
    host = np.arange(4, dtype=np.int32)
    memory.allocator._copyin(memory.get_buf("CPU"), host.view(np.uint8).data)
    assert Tensor(node).tolist() == [0, 1, 2, 3]
    view = np.frombuffer(memory.as_memoryview(force_zero_copy=True), np.int32)
    view[0] = 9
    assert Tensor(node).tolist() == [9, 1, 2, 3], "as_memoryview makes a copy"


def test_memory() -> None:
    """The CPU's allocator accepts the caller's memory."""
    from tinygrad.device import BufferSpec
    from tinygrad.helpers import mv_address

    host = bytearray(16)
    address: int = mv_address(memoryview(host))  # type: ignore[no-untyped-call]
    allocator: Any = Device["CPU"].allocator
    memory = allocator._alloc(16, BufferSpec(external_ptr=address))
    assert memory.va_addr == address, "external_ptr is not taken"
    assert callable(allocator.free_cache)


def test_compilers() -> None:
    """A renderer's compiler has options that select the processor, and CC names the clang."""
    from tinygrad.renderer.cstyle import ClangRenderer
    from tinygrad.runtime.support import compiler_cpu

    open_device("CPU")
    renderer: Any = Device["CPU"].renderer
    compiler = renderer.compiler
    assert isinstance(renderer, ClangRenderer) and not renderer.has_local
    assert compiler.arch and isinstance(compiler.args, list)
    assert 'getenv("CC"' in inspect.getsource(compiler_cpu), "CC is no longer what names the clang"
    assert type(compiler).__name__ == "ClangCompiler", "the CPU's compiler has another class"


def test_operations() -> None:
    """Operations in a list are rendered and interpreted in its order."""
    from tensor_envs._runtime.programs import compile_tape
    from tensor_envs.rules.kernel import Cells, branch, loop, trace

    def body(x: Cells) -> None:
        with loop(4) as k, branch(x[k] > 1):
            x[k] = x[k] * 10

    device = open_device("PYTHON")
    assert isinstance(device, str)
    _, program = compile_tape("times_10", trace(body, [(dtypes.int32, 4)]), Device[device].renderer, [4])
    after = Tensor.custom_kernel(upload(np.arange(4, dtype=np.int32), device), fxn=lambda *_: program())[0]
    assert after.tolist() == [0, 1, 20, 30]


@pytest.mark.few("of the wheel")
@pytest.mark.parametrize("compiler", ["on the path", "of the wheel"])
def test_nothing_of_tinygrad_is_replaced(compiler: str, tmp_path: Path) -> None:
    """Attributes of tinygrad's modules, classes, devices and renderers, and the environment, stay the same."""
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "PARALLEL")} | {
        "PYTHONPATH": str(ROOT)
    }
    folders = [path for path in environment["PATH"].split(os.pathsep) if not shutil.which("clang", path=path)]
    if compiler == "on the path":
        (tmp_path / "clang").symlink_to(cpu_compiler())
        folders.append(str(tmp_path))
    environment["PATH"] = os.pathsep.join(folders)
    every = ["every"] if compiler == "on the path" else []
    command = [sys.executable, str(ROOT / "tests" / "runtime" / "unchanged.py"), *every]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    # tinygrad's compile processes would find no compiler
    changed = [] if compiler == "on the path" else ["setting PARALLEL"]
    assert done.stdout.splitlines()[-1:] == [str(changed)], done.stdout + done.stderr

"""The CPU device's compiler is found, or the error says how to install one."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs._runtime import clang
from tensor_envs._runtime.clang import cpu_compiler

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parents[2]
STEP = "import tensor_envs as te; print(te.make('tic_tac_toe').init(2, device='CPU'))"
NO_ZIG = "import sys; sys.modules['ziglang'] = None; import importlib.util as u; f = u.find_spec; "
NO_ZIG += "u.find_spec = lambda name, *rest: None if name == 'ziglang' else f(name, *rest); "


def run(code: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program whose caches, also those in the temporary folder, are those of the test alone."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("CC", "DEV", "PARALLEL", "TENSOR_ENVS_CACHE")}
    inherited |= {
        "TMPDIR": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        "CACHEDB": str(tmp_path / "cache.db"),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=inherited | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    """Return a copy of the script that runs the wheel's clang."""
    return Path(shutil.copy(cpu_compiler(), tmp_path / "shim"))


NO_ERROR = "#ifdef __AVX512VL__\n#error\n#endif"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="has no AVX-512")
def test_kernels_have_no_registers_beyond_those_of_avx2() -> None:
    """LLVM 21 overwrites other registers where vectors of 128 or 256 bits may be in the registers 16 to 31."""
    for_avx512 = ["-march=x86-64-v4"]
    assert clang.compile_object(NO_ERROR, "x86_64", for_avx512)
    of_tinygrad = [cpu_compiler(), *for_avx512, "-x", "c", "-c", "-", "-o", os.devnull]
    subprocess.run(of_tinygrad, input=NO_ERROR, text=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("komi", [1.5, -7.5])
def test_games_of_a_rollout_are_those_of_steps_where_llvm_miscompiled(komi: float) -> None:
    """With these rules and eight games, a rollout's vector of ones was in a register that its instruction has not."""
    env = te.make("go", komi=komi)
    played = te.rollout(env, "uniform", batch=8, steps=8).state
    state = env.init(8)
    for _ in range(8):
        state = env.step(state, te.agents.uniform(state))
    assert played.numpy()["own"].tolist() == state.numpy()["own"].tolist()


OWN_KERNELS = """
import os
import tensor_envs as te
from tinygrad import Tensor
if __name__ == "__main__":
    te.make("tic_tac_toe").init(2, device="CPU")
    x = Tensor([1.0, 2.0], device="CPU")
    powers, total = x.exp2(), x.sum()
    Tensor.realize(powers, total)
    print(powers.tolist(), total.item(), os.environ.get("CC"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("cc", [None, ""])
@pytest.mark.parametrize("on_path", [False, True])
def test_tinygrads_own_kernels_compile_too(tmp_path: Path, shim: Path, cc: str | None, on_path: bool) -> None:
    """The wheel's clang and one on the path compile tinygrad's own kernels, too, and CC keeps its value.

    tinygrad's compile processes read CC again, and take an empty one for the name of a program.
    """
    environment = {} if cc is None else {"CC": cc}
    (tmp_path / "bin").mkdir()
    if on_path:
        (tmp_path / "bin" / "clang").symlink_to(shim)
    done = run(OWN_KERNELS, tmp_path, PATH=str(tmp_path / "bin"), **environment)
    assert done.stdout == f"[2.0, 4.0] 3.0 {cc}\n", done.stderr
    assert on_path or list((tmp_path / "tensor_envs").glob("clang-*")), "the wheel's clang is used"


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["CC", "PATH"])
def test_warnings_of_the_compiler_are_not_shown(tmp_path: Path, shim: Path, variable: str) -> None:
    """tinygrad passes on its compiler's stderr; warnings of a clang from CC or PATH are not shown."""
    (tmp_path / "bin").mkdir()
    loud = tmp_path / "bin" / "clang"
    loud.write_text(f'#!/bin/sh\nexec {shim} -Wall -x c -include {tmp_path}/loud.h "$@"\n')
    loud.chmod(0o755)
    (tmp_path / "loud.h").write_text("static int loud(int x) { return x == x; }")
    path = {"CC": str(loud)} if variable == "CC" else {"PATH": f"{loud.parent}:/bin:/usr/bin"}
    done = run((NO_ZIG if variable == "PATH" else "") + OWN_KERNELS, tmp_path, CACHELEVEL="0", **path)
    assert done.stdout.startswith("[2.0, 4.0] 3.0") and done.stderr == ""


@pytest.mark.slow
def test_a_network_that_is_made_first_compiles_too(tmp_path: Path) -> None:
    code = "import tensor_envs as te; print(te.agents.load('tic_tac_toe', 0))"
    done = run(code, tmp_path, PATH="/bin:/usr/bin", DEV="CPU")
    assert done.returncode == 0, done.stderr


BROKEN = ["/no/such/compiler", "/bin/true", sys.executable]


@pytest.mark.few(1)
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("variable", ["CC", "TENSOR_ENVS_CC"])
def test_a_compiler_that_is_no_clang_is_named(tmp_path: Path, variable: str, broken: str) -> None:
    """CC counts where there is no other clang, the package's own variable always."""
    code = (NO_ZIG if variable == "CC" else "") + STEP
    done = run(code, tmp_path, PATH=str(tmp_path), **{variable: broken})
    last = done.stderr.strip().split("\n")[-1]
    message = f"RuntimeError: the environment variable {variable} is {broken!r}, which is no clang"
    assert last.startswith(message), done.stderr
    assert "pip install ziglang" in last


@pytest.mark.few(1)
@pytest.mark.parametrize("other", ["gcc", *BROKEN])
def test_a_cc_for_other_programs_is_ignored(tmp_path: Path, other: str) -> None:
    """The wheel's clang compiles the games and tinygrad's own kernels, and CC keeps its value."""
    done = run(OWN_KERNELS, tmp_path, CC=other)
    assert done.stdout == f"[2.0, 4.0] 3.0 {other}\n", done.stderr


def test_a_clang_of_our_own_variable_is_taken(monkeypatch: pytest.MonkeyPatch, shim: Path) -> None:
    monkeypatch.setenv("TENSOR_ENVS_CC", str(shim))
    monkeypatch.setenv("CC", "gcc")
    assert cpu_compiler.__wrapped__() == str(shim)


def test_without_any_compiler_the_error_says_what_to_install(tmp_path: Path) -> None:
    done = run(NO_ZIG + STEP, tmp_path, PATH=str(tmp_path))
    last = done.stderr.strip().split("\n")[-1]
    assert "needs a clang and none was found; install one: `pip install ziglang`" in last, done.stderr


def test_an_explicit_clang_is_taken(monkeypatch: pytest.MonkeyPatch, shim: Path) -> None:
    monkeypatch.delenv("TENSOR_ENVS_CC", raising=False)
    monkeypatch.setenv("CC", str(shim))
    assert cpu_compiler.__wrapped__() == str(shim)
    assert clang.version(str(shim)).startswith("clang version")


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("preset", ["tic_tac_toe", "qubic", "gomoku"])
def test_the_first_step_with_a_cold_kernel_cache_comes_within_5_seconds(tmp_path: Path, preset: str) -> None:
    """Processor time, with the compiler's, hardly depends on other load."""
    code = (
        "import tensor_envs as te, os; start = sum(os.times()[:4]);"
        f"vector = te.VectorEnv(te.make({preset!r}), 4096, device='CPU'); vector.step_uniform().rewards.numpy();"
        "print(sum(os.times()[:4]) - start)"
    )
    assert float(run(code, tmp_path).stdout) < 5

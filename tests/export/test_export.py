"""Exported games, played by programs in C, Rust, JavaScript and WGSL, are the games of the Python environment."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.export import export
from tensor_envs.export.__main__ import main
from tensor_envs.export.files import name_of
from tests import nvrtc
from tests.export.shared import CC, CLANG, SEED, STRICT, TRAPS, TURNS, build, compare, run, transcript
from tests.games.shared import GAMES, shared_env
from tests.scripts.here import run_here, status

HERE = Path(__file__).parent
NODE, RUSTC, GCC, GXX = map(shutil.which, ("node", "rustc", "gcc", "g++"))
BATCH, STEPS = 2048, 40
FUNCTIONS = "seed", "init", "step", "reset", "sample", "observe", "mask", "rollout"
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")
pytestmark = pytest.mark.cpu


def arguments(games: int = BATCH, steps: int = STEPS) -> list[int]:
    return [SEED, games, steps, TURNS]


def defines(env: te.Env, source: str) -> list[str]:
    prefix, bytes_each = name_of(env), {"bool": 1, "int8": 1, "float32": 4}[env.spec.observation_dtype]
    names = [f'-DSOURCE="{source}"', f"-DNAME={prefix}", f"-DUPPER={prefix.upper()}"]
    return [*names, f"-DOBSERVATION_BYTES={bytes_each}"]


# *** C ***


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", te.registered())
def test_c_plays_as_python(name: str, tmp_path: Path) -> None:
    """All functions agree, with illegal actions, macros and parts of a batch; undefined behaviour traps."""
    env = shared_env(name)
    export(env, "c", tmp_path / "game.c")
    declarations = [*defines(env, "game.c"), f"-D{name_of(env).upper()}_DECLARATIONS", "-I."]
    run([*CC, *STRICT, *TRAPS, "-c", "game.c"], tmp_path)
    build("play", [HERE / "play.c", "game.o"], tmp_path, [*STRICT, *TRAPS, *declarations])
    done = run(["./play", *arguments()], tmp_path)
    compare(done.stdout, transcript(name, BATCH, STEPS))
    finished, illegal = map(int, done.stderr.split()[:2])
    assert finished >= BATCH and illegal >= BATCH // 13


def test_one_lane(tmp_path: Path) -> None:
    """The words of a state are contiguous."""
    env = shared_env("tic_tac_toe")
    export(env, "c", tmp_path / "game.c", lanes=1)
    build("play", [HERE / "play.c"], tmp_path, [*STRICT, *defines(env, "game.c"), "-I."])
    written = run(["./play", *arguments(64, 0)], tmp_path).stdout
    keys = env.init(64, SEED, "CPU").tensors[1].numpy().reshape(5, 64).T
    assert written[: 64 * 5 * 4] == keys.tobytes()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", GAMES)
def test_c_compiles_without_warnings(name: str, tmp_path: Path) -> None:
    env = shared_env(name)
    export(env, "c", tmp_path / "game.c")
    text = (tmp_path / "game.c").read_text()
    prefix = name_of(env)
    assert all(f"void {prefix}_{function}(" in text for function in FUNCTIONS)
    assert "static const" not in text and text.startswith(f"/*\n{env.id}-v")
    assert all(f"{a}={env.action_names[a]}" in text.replace("\n", " ") for a in range(env.num_actions))
    for compiler in [CLANG, *([[GCC, "-std=c11"]] if GCC else [])]:
        run([*compiler, *STRICT, "-fsyntax-only", "game.c"], tmp_path)


@pytest.mark.slow
def test_cpp_includes_the_declarations(tmp_path: Path) -> None:
    export("2048", "c", tmp_path / "2048.c")
    (tmp_path / "main.cpp").write_text(
        '#include "2048.c"\n#include "2048.c"\n'
        "int main() {\n  unsigned keys[GAME_2048_KEY_WORDS * GAME_2048_LANES] = {};\n"
        "  unsigned states[GAME_2048_WORDS * GAME_2048_LANES];\n"
        "  game_2048_seed(keys, 3, 0, 0, 1);\n  game_2048_init(states, keys, 1);\n"
        "  return game_2048_reward(states, 7, 0) == 0.0f && GAME_2048_CURRENT_PLAYER(states, 7) == 0 ? 42 : 1;\n}\n"
    )
    run([*CC, "-c", "2048.c"], tmp_path)
    cpp = [sys.executable, "-m", "ziglang", "c++", "-c", "-O1"]
    for compiler in [cpp, *([[GXX, "-c"]] if GXX else [])]:
        run([*compiler, "-std=c++11", *STRICT, "-Wconversion", "main.cpp", "-o", "main.o"], tmp_path)
        build("main", ["main.o", "2048.o"], tmp_path)
        run(["./main"], tmp_path, 42)


@pytest.mark.slow
def test_blocks_beyond_the_limit_are_not_played(tmp_path: Path) -> None:
    """Indices fit 32 bits up to the limit of blocks, which chess's large mask makes smaller."""
    for name in ("tic_tac_toe", "chess"):
        for target in ("c", "cuda", "wgsl"):
            env = shared_env(name)
            export(env, target, tmp_path / "game")
            text = (tmp_path / "game").read_text()
            (limit,) = {int(x) for x in re.findall(r"_MAX_BLOCKS (?:= )?(\d+)", text)}
            assert f"at most\n{limit} blocks" in text
            largest = max(env.engine.layout.words, env.num_actions, 2 * env.num_players)
            assert limit * 64 * largest < 2**31
            assert limit <= {"c": 16383, "cuda": 2**31, "wgsl": 65535}[target]
    (tmp_path / "main.c").write_text(
        '#include <stdlib.h>\n#include "game.c"\nint main(void) {\n'
        "  unsigned *keys = calloc((TIC_TAC_TOE_MAX_BLOCKS + 1) * 5 * 64, 4);\n"
        "  tic_tac_toe_seed(keys, 1, 2, 3, TIC_TAC_TOE_MAX_BLOCKS + 1);\n  tic_tac_toe_seed(keys, 9, 9, 9, -1);\n"
        "  unsigned *last = keys + (TIC_TAC_TOE_MAX_BLOCKS - 1) * 5 * 64;\n"
        "  return last[0] == 1 && last[64] == 2 && last[320] == 0 ? 42 : 1;\n}\n"
    )
    export("tic_tac_toe", "c", tmp_path / "game.c")
    build("main", ["main.c"], tmp_path, STRICT)
    run(["./main"], tmp_path, 42)


# *** Rust, JavaScript, CUDA ***


@pytest.mark.slow
@pytest.mark.skipif(RUSTC is None, reason="needs rustc")
def test_rust_plays_as_python(tmp_path: Path) -> None:
    export("connect_four", "c", tmp_path / "game.c")
    run([*CC, "-c", "game.c"], tmp_path)
    run([RUSTC, "--edition=2024", "-Dwarnings", HERE / "play.rs", "-Clink-arg=game.o", "-o", "play"], tmp_path)
    compare(run(["./play", *arguments()], tmp_path).stdout, transcript("connect_four", BATCH, STEPS))


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("name", te.registered())
def test_node_plays_as_python(name: str, tmp_path: Path) -> None:
    export(shared_env(name), "wasm", tmp_path / "game.wasm")
    done = run([NODE, HERE / "play.mjs", "game.wasm", *arguments()], tmp_path)
    compare(done.stdout, transcript(name, BATCH, STEPS))


@pytest.mark.few("leduc_poker")
@pytest.mark.parametrize("name", te.registered())
def test_cuda_compiles(name: str, tmp_path: Path) -> None:
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    export(shared_env(name), "cuda", tmp_path / "game.cu")
    ptx = nvrtc.compiled((tmp_path / "game.cu").read_text(), "compute_80", "PTX")
    prefix = name_of(shared_env(name))
    assert re.findall(rb"\.entry (\w+)", ptx) == [f"{prefix}_{x}".encode() for x in FUNCTIONS]


# *** the command ***


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "game.wasm"
    rules = ["--rules", "shape=(3, 4)", "k=3"]
    assert status(main, ["hyper_tic_tac_toe", "--to", "wasm", str(out), *rules, "--lanes", "8"]) == 0
    content = out.read_bytes()
    description = json.loads(content[content.index(b'{"generator"') :])
    assert (description["lanes"], description["arrays"]["masks"]) == (8, ["bool", 12]) and len(
        description["actions"]
    ) == 12
    assert description["functions"]["step"] == ["states", "keys", "actions", "blocks"]
    assert status(main, ["connect_four", "--to", "c", str(out)]) == 0, "an earlier export is overwritten"
    assert out.read_text().startswith("/*\nconnect_four-v")
    assert status(main, ["tests.games.dice_race:DiceRace", "--to", "wgsl", str(out)]) == 0
    assert "dicerace_rollout" in out.read_text()
    assert status(main, ["tic_tac_toe", "--to", "cuda", "/dev/null"]) == 0
    assert capsys.readouterr() == ("", "")
    assert status(main, ["--help"]) == 0 and "connect_four" in capsys.readouterr().out


C = ["--to", "c", "OUT"]
WRONG = [
    (["connect_for", *C], "unknown id 'connect_for'; did you mean 'connect_four'"),
    (["no_module:GAME", *C], "there is no module 'no_module', which the id 'no_module:GAME' names"),
    (["connect_four", *C, "--rules", "rows"], "--rules: must be FIELD=VALUE with a plain Python value, got 'rows'"),
    (
        ["connect_four", *C, "--rules", "row=4"],
        "'connect_four' has no rule field 'row'; its fields are rows, columns, k",
    ),
    (["connect_four", *C, "--rules", "rows=99"], "rows must be in 1..32, got 99"),
    (["qubic", *C, "--rules", "k=3"], "the preset 'qubic' fixes k=4"),
    (["connect_four", *C, "--lanes", "3"], "lanes must be a power of two in 1..64, got 3"),
    (["connect_four", *C, "--lanes", "128"], "lanes must be in 1..64, got 128"),
    (["connect_four", *C, "--lanes", "x"], "--lanes: invalid int value: 'x'"),
    (["connect_four", "--to", "c"], "the following arguments are required: OUT"),
    (["connect_four", "OUT"], "the following arguments are required: --to"),
    (["connect_four", "--to", "java", "OUT"], "--to: invalid choice: 'java'"),
    (["connect_four", "--to", "c", ""], "out must name a file, got ''"),
    (["connect_four", "--to", "c", "."], "out must be a file, got the folder '.'"),
    (["connect_four", "--to", "c", "no/such/OUT"], "out must be in a folder that exists, got 'no/such/OUT'"),
    (["connect_four", "--to", "c", "main.c"], "out must be a new file or an earlier export, got the file 'main.c'"),
    (["connect_four", "--to", "c", "/dev/full"], "No space left on device"),
    (["gomoku", *C], None),
    (
        ["hyper_tic_tac_toe", *C, "--rules", "shape=(99,99)"],
        "shape=(99, 99), k=3, misere=False, gravity=False) cannot be exported: its board is too large",
    ),
]


@pytest.mark.parametrize(("argv", "message"), WRONG, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_wrong_input(argv: list[str], message: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one line with the argument, its value and the allowed values, and no file is written."""
    monkeypatch.chdir(tmp_path)
    Path("main.c").write_text("int main(void) { return 0; }\n")
    code, out, errors = run_here(main, argv)
    if message is None:  # the same call without the mistake
        assert code == 0 and Path("OUT").exists()
        return
    assert code == 2 and message in errors
    assert errors.startswith("python -m tensor_envs.export: error: ") and errors.count("\n") == 1 and not out
    assert [path.name for path in tmp_path.iterdir()] == ["main.c"]
    assert Path("main.c").read_text() == "int main(void) { return 0; }\n"


def test_wrong_arguments_of_the_function(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="env must be of type Env, got 3"):
        export(3, "c", tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="to must be one of 'c', 'cuda', 'wgsl', 'wasm', got 'C'"):
        export("go", "C", tmp_path / "x")
    with pytest.raises(TypeError, match="out must be a str or a Path, got 5"):
        export("go", "c", 5)  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]

"""The cache of programs: a damaged, locked or full cache costs compilations and nothing else."""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tinygrad.device import Compiler

from tensor_envs._runtime import clang, programs
from tests.mounted import run_mounted

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parents[2]
# compiles two programs of the package, and one of tinygrad
PLAY = "import tensor_envs as te; env = te.make('tic_tac_toe'); "
PLAY += "print(te.jit(lambda s: s.ply + 1)(env.init(3)).tolist())"
OUTPUT = "[1, 1, 1]\n"
NO_COMPILER = "from tensor_envs._runtime import clang; clang.compile_object = None; "


def play(folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    cache = {"CACHEDB": str(folder / "tinygrad" / "cache.db"), "TENSOR_ENVS_CACHE": str(folder / "cache")}
    environment = {**os.environ, **cache, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "DEV": "CPU"}
    return subprocess.run(
        [sys.executable, "-c", before + PLAY], env=environment, capture_output=True, text=True, check=False
    )


def check(folder: Path, before: str = "") -> str:
    done = play(folder, before)
    assert (done.returncode, done.stdout) == (0, OUTPUT), done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the caches that a first run leaves."""
    check(folder := tmp_path_factory.mktemp("caches"))
    return folder


@pytest.fixture
def played(once: Path, tmp_path: Path) -> Path:
    """Return a copy of the caches that a first run leaves."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_program_is_compiled_once(played: Path) -> None:
    assert play(played, NO_COMPILER).stdout == OUTPUT


@pytest.mark.slow
def test_a_program_is_compiled_once_a_set_of_options(played: Path) -> None:
    other_flags = NO_COMPILER + "clang.OPTIONS = (*clang.OPTIONS, '-O1'); "
    assert "'NoneType' object is not callable" in play(played, other_flags).stderr


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "flipped bit": lambda content: content[:-40] + bytes([content[-40] ^ 16]) + content[-39:],
    "first half": lambda content: content[: len(content) // 2],
    "nothing": lambda content: b"",
    "something else": lambda content: b"damaged" * 100,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    """Damaged programs, entries of tinygrad's cache and compiler scripts are replaced."""
    check(tmp_path)
    files = [file for folder in ("cache", "tinygrad") for file in (tmp_path / folder).rglob("*") if file.is_file()]
    assert len(files) >= 4
    before = {file: file.read_bytes() for file in files}
    for file, content in before.items():
        file.write_bytes(DAMAGE[name](content))
    warning = "RuntimeWarning: tinygrad's kernels are compiled anew"
    assert warning in check(tmp_path) or name != "something else"
    ours = [file for file in files if "cache" in file.relative_to(tmp_path).parts]
    assert all(file.read_bytes() == before[file] for file in ours), "what is damaged is replaced"


@pytest.mark.slow
def test_exchanged_files(played: Path) -> None:
    """The binary of another kernel is no damage by itself, and yet is compiled again."""
    files = sorted(file for file in (played / "cache" / programs.FOLDER).iterdir())
    contents = [file.read_bytes() for file in files]
    assert len({*contents}) == len(files) > 1
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    check(played)
    assert [file.read_bytes() for file in files] == contents


@pytest.mark.parametrize("kind", ["NVRTCCompiler", "NVCCCompiler", "HIPCCCompiler", "MetalCompiler"])
def test_keys_have_the_version_of_the_compiler(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions of a compiler do not share files."""

    def file_name(release: int) -> str | None:
        def write(*parts: Any) -> None:
            for part in parts:
                part._obj.value = release

        programs.compiler_version.cache_clear()
        monkeypatch.setattr(importlib.import_module("tinygrad.runtime.autogen.nvrtc"), "nvrtcVersion", write)
        monkeypatch.setattr(clang, "version", lambda command: f"{command} {release}")
        monkeypatch.setattr(platform, "version", lambda: str(release))
        compiler = type(kind, (Compiler,), {})("key")
        renderer: Any = type("Renderer", (), {"compiler": compiler})()
        return programs.BinaryFuture("source", renderer).file

    monkeypatch.setattr(programs, "_read", lambda file: b"")
    names = [file_name(release) for release in (12, 13, 12)]
    programs.compiler_version.cache_clear()
    assert names[0] == names[2] != names[1] and None not in names


@pytest.mark.slow
def test_damaged_tables(played: Path) -> None:
    connection = sqlite3.connect(played / "tinygrad" / "cache.db")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert tables
    for content in (b"no pickle", b""):
        for table in tables:
            connection.execute(f"UPDATE '{table}' SET val = ?", (content,))
        connection.commit()
        check(played)
    connection.close()


@pytest.mark.slow
def test_a_locked_database(played: Path) -> None:
    connection = sqlite3.connect(played / "tinygrad" / "cache.db")
    connection.execute("BEGIN EXCLUSIVE")
    no_patience = "import sqlite3, functools; sqlite3.connect = functools.partial(sqlite3.connect); "
    no_patience += "c = sqlite3.connect; sqlite3.connect = lambda path, timeout, **named: c(path, timeout=1, **named); "
    assert "fails: database is locked" in check(played, no_patience)
    connection.close()


@pytest.mark.slow
def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    """The temporary folder replaces a cache folder that cannot be made."""
    (tmp_path / "cache").write_text("a file")
    check(tmp_path)
    (temporary,) = tmp_path.glob("tensor_envs-*")
    assert list((temporary / "programs").iterdir())
    check(tmp_path, NO_COMPILER)


@pytest.mark.slow
def test_no_cache(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    check(tmp_path)
    (temporary,) = tmp_path.glob("tensor_envs-*")
    script = next(iter(temporary.glob("clang-*")), None)
    compiler = f"import os; os.environ['CC'] = {str(script)!r}; " if script else ""
    compiler += "from tensor_envs._runtime import clang; import pathlib; "
    check(tmp_path, compiler + "clang.cache_folders = lambda create=False: [pathlib.Path('/proc/none')]; ")


@pytest.mark.slow
def test_no_folder_can_be_written(tmp_path: Path) -> None:
    """The compiler's script is kept in memory where no folder can be written."""
    (tmp_path / "cache").write_text("a file")
    nowhere = "import tempfile\ndef none(): raise FileNotFoundError('No usable temporary directory found')\n"
    check(tmp_path, nowhere + "tempfile.gettempdir = none\n")
    assert {file.name for file in tmp_path.iterdir()} == {"cache", "tinygrad"}


def whole_programs(folder: Path) -> int:
    """Count the programs in the cache; check that all are complete and that no other files exist."""
    files = list((folder / "cache" / "programs").glob("*"))
    for file in files:
        content = file.read_bytes()
        assert len(file.name) == 64, file
        name = f"{file.parent.name}/{file.name}\n".encode()
        assert hashlib.sha256(name + content[32:]).digest() == content[:32], file
    return len(files)


def check_full_disk(folder: Path) -> None:
    """Run a program on a disk that fills up, and again with more room; print the number of cached programs each time.

    `folder` must be the root of a separate disk.
    """
    check(folder)
    before = whole_programs(folder)
    subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
    check(folder)
    print(before, whole_programs(folder))


@pytest.mark.slow
@pytest.mark.parametrize("size", [148, 8, 60])
def test_a_full_disk(tmp_path: Path, size: int) -> None:
    """Every run succeeds, results are right, the cache holds complete programs, and nothing needs to be cleared.

    The smallest disk has room for the script that runs the compiler, and the largest for some programs.
    """
    code = "from tests.runtime.test_cache import check_full_disk; check_full_disk(folder)"
    done = run_mounted(tmp_path, size, code)
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert (before == 0 or size > 100) and before < after >= 4


@pytest.mark.slow
@pytest.mark.parametrize(("size", "programs"), [(2000, range(1, 4)), (700, range(1))])
def test_files_that_the_system_refuses_to_write(tmp_path: Path, size: int, programs: range) -> None:
    """A limit on file sizes acts like a full disk, and needs no mount."""
    check(tmp_path, f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, -1)); ")
    assert whole_programs(tmp_path) in programs
    check(tmp_path)
    assert whole_programs(tmp_path) >= 4


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSOR_ENVS_CACHE", str(tmp_path))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    assert clang.store("folder/file", b"first") == str(tmp_path / "folder" / "file")

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert clang.store("folder/file", b"second") is None
    assert [file.read_bytes() for file in (tmp_path / "folder").iterdir()] == [b"first"]


def test_the_files_read_longest_ago_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(5):
        (tmp_path / str(k)).write_bytes(b"x" * 10)
        os.utime(tmp_path / str(k), (1000 + k, 1))
    monkeypatch.setattr(programs, "CACHE_MAX_BYTES", 25)
    programs._trim(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["3", "4"]

"""Hand-written C that plays our games: what the machine can do (`benchmark.py --limits`).

`limits/*.c` draw from the same generator for the same rows, so their games are ours bit for bit: `compare` holds them
to `te.rollout` before anything is timed. Compiled for this machine when first asked for, by the compiler that tinygrad
uses, and linked by the ziglang wheel's linker, so nothing else must be installed. Linux alone.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.runner import MIN_EPISODES, EpisodeStats, play_first_episodes

FOLDER = Path(__file__).parent / "limits"
LIMITS = {"tic_tac_toe": ("step", "rollout"), "gomoku": ("rollout",)}  # games and the modes that they have
ALIGNMENT = 256  # bytes; the largest vector type that the C uses, times two
# a rollout to be equal in: at least one game of gomoku ends in most rows
CHECK = {"batch": 100, "steps": 150}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")


@functools.cache
def library(game: str, *flags: str) -> ctypes.CDLL:
    """The C of a game; `flags` come after -O3 and -march=native. RuntimeError if it cannot be built."""
    from tensor_envs._compiler.clang import cpu_compiler

    if sys.platform != "linux":
        raise RuntimeError(f"the C of {game!r} is built on Linux alone, and this is {sys.platform}")
    native = "-march=native" if platform.machine() == "x86_64" else "-mcpu=native"
    with tempfile.TemporaryDirectory() as folder:
        code, built = str(Path(folder, "game.o")), str(Path(folder, "game.so"))
        source = str(FOLDER / f"{game}.c")
        _run(cpu_compiler(), "-c", "-O3", native, "-ffreestanding", "-fPIC", *flags, source, "-o", code)
        _run(sys.executable, "-m", "ziglang", "ld.lld", "-shared", code, "-o", built)
        return ctypes.CDLL(built)


class Games:
    """B games in C's own memory. Subclasses say how they lie there, and read them as a `State` shows them."""

    name: str

    def __init__(self, batch: int, seed: int = 0, flags: tuple[str, ...] = ()):
        self.batch, self.seed, self.c = batch, seed, library(self.name, *flags)
        dtype, self.lanes, block = self.layout()
        if dtype.itemsize != self._constant("game_bytes") * self.lanes:
            raise RuntimeError(f"{self.name}.c and c_baseline.py take a game for another size")
        self.rows = -(-batch // block) * block
        memory = np.zeros(self.rows // self.lanes * dtype.itemsize + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        self.games = memory[start : len(memory) - ALIGNMENT + start].view(dtype)
        self.begin()

    def layout(self) -> tuple[np.dtype[Any], int, int]:
        """-> what C calls a struct, the games in it, and what the number of rows is a multiple of."""
        raise NotImplementedError

    def numpy(self) -> dict[str, np.ndarray]:
        """The games by the names that a `State` has for them, with `wins` [B, 2] of a rollout and the last `action`."""
        raise NotImplementedError

    def _constant(self, name: str) -> int:
        return ctypes.c_int64.in_dll(self.c, name).value

    def _call(self, function: str, *arguments: Any) -> None:
        where = ctypes.c_void_p(self.games.ctypes.data)
        getattr(self.c, function)(where, ctypes.c_int64(self.rows), *arguments)

    def begin(self) -> None:
        """New games, episode 0 of every row."""
        self._call("begin", ctypes.c_uint32(self.seed & 0xFFFFFFFF), ctypes.c_uint32(self.seed >> 32))

    def play(self, steps: int) -> None:
        """Play on for so many steps, and sum up."""
        self._call("play", ctypes.c_int64(steps))


class TicTacToe(Games):
    name = "tic_tac_toe"
    state = ("key", "counter", "list", "own", "other")
    output = ("mask", "action", "rewards", "flags")

    def layout(self) -> tuple[np.dtype[Any], int, int]:
        lanes = self._constant("lanes")
        kinds = {"rewards": "f4", "flags": "u1", "unused": "u1"}
        pairs = ("key", "counter", "rewards", "flags", "unused", "wins")
        names = (*self.state, *self.output, "unused", "wins")
        fields = [(n, kinds.get(n, "u4"), (2, lanes) if n in pairs else (1, lanes)) for n in names]
        return np.dtype(fields), lanes, self._constant("block")

    def step(self) -> None:
        """One step, without sums."""
        self._call("step")

    @property
    def step_bytes(self) -> int:
        """Bytes that a step of one game reads and writes."""
        size = {name: self.games[name].nbytes // self.rows for name in (*self.state, *self.output)}
        return sum(size.values()) + sum(size[name] for name in self.state if name != "key")

    def _rows(self, name: str) -> np.ndarray:
        """A field as [B, n]."""
        field = self.games[name]
        return field.transpose(0, 2, 1).reshape(self.rows, -1)[: self.batch]

    def numpy(self) -> dict[str, np.ndarray]:
        ply, episode = (self._rows("counter") - self._rows("key")).T
        wins, flags, mask = self._rows("wins"), self._rows("flags") != 0, self._rows("mask")
        return {
            "current_player": ply & 1,
            "ply": ply,
            "episode": episode,
            "own": self._marks("own"),
            "other": self._marks("other"),
            "legal_action_mask": (mask >> np.arange(9) & 1) != 0,
            "rewards": self._rows("rewards"),
            "terminated": flags[:, 0],
            "truncated": flags[:, 1],
            "action": self._rows("action")[:, 0],
            "wins": np.stack([wins[:, 0] - wins[:, 1], wins[:, 1]], axis=1),
        }

    def _marks(self, player: str) -> np.ndarray:
        """Counters of lines -> cells as bits; cell 8 by the marks on its row, of which the counter has one more."""
        lines = self._rows(player)
        last = (lines >> 6) ^ (lines >> 30) ^ (lines >> 31) ^ 1
        return lines >> 24 | (last & 1) << 8


class Gomoku(Games):
    name = "gomoku"
    SIDE, CELLS, LINES = 15, 225, 88

    def layout(self) -> tuple[np.dtype[Any], int, int]:
        board = [("free", "u8", (4,)), ("key", "u4", (2,)), ("ply", "u4", ()), ("episode", "u4", ())]
        output = [
            ("rewards", "f4", (2,)),
            ("wins", "u4", (2,)),
            ("action", "u4", ()),
            ("terminated", "u4", ()),
        ]
        return np.dtype([*board, ("lines", "u2", (2, self.LINES)), *output]), 1, 1

    def numpy(self) -> dict[str, np.ndarray]:
        games = self.games
        player, rows = games["ply"] & 1, np.arange(self.batch)
        free = np.unpackbits(games["free"].view(np.uint8), axis=1, bitorder="little")
        return {
            "current_player": player,
            "ply": games["ply"],
            "episode": games["episode"],
            "own": self._marks(games["lines"][rows, player]),
            "other": self._marks(games["lines"][rows, 1 - player]),
            "legal_action_mask": free[:, : self.CELLS] != 0,
            "rewards": games["rewards"],
            "terminated": games["terminated"] != 0,
            "truncated": np.zeros(self.batch, bool),
            "action": games["action"],
            "wins": games["wins"],
        }

    def _marks(self, lines: np.ndarray) -> np.ndarray:
        """Lines of which the first are the rows of the board -> cells in words."""
        rows = np.ascontiguousarray(lines[:, : self.SIDE]).view(np.uint8)
        cells = np.unpackbits(rows, axis=1, bitorder="little").reshape(-1, self.SIDE, 16)[:, :, : self.SIDE]
        padded = np.pad(cells.reshape(-1, self.CELLS), [(0, 0), (0, -self.CELLS % 32)])
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint32)


FORMS: dict[str, type[Games]] = {form.name: form for form in (TicTacToe, Gomoku)}


def compare(te: Any, games: Games, steps: int) -> None:
    """RuntimeError, naming what differs, unless new games in C are those of `te.rollout`, bit for bit."""
    env = te.make(games.name)
    whole = te.rollout(env, "uniform", games.batch, steps, seed=games.seed, device="CPU")
    true = whole.state.numpy() | {"episode": whole.episodes.numpy(), "wins": whole.wins.numpy()}
    del true["terminated"]  # of a state that goes on; in C it is what the last step led to
    games.begin()
    games.play(steps)
    found = games.numpy()
    first = found["wins"][:, 0].astype(np.float32) - found["wins"][:, 1]
    _check(
        found | {"returns": np.stack([first, -first], 1)}, true | {"returns": whole.returns.numpy()}, games
    )
    if isinstance(games, TicTacToe):
        games.begin()
        for _ in range(steps):
            games.step()
        _check(games.numpy() | {"wins": found["wins"]}, found, games)


def _check(found: dict[str, np.ndarray], true: dict[str, np.ndarray], games: Games) -> None:
    wrong = [name for name in true if not np.array_equal(np.squeeze(found[name]), np.squeeze(true[name]))]
    if wrong:
        raise RuntimeError(f"statistics: the C of {games.name!r} plays other games, by {', '.join(wrong)}")


class CBaseline:
    """The C as a runner of `benchmark.py`: "step", or "rollout" with its first states made anew like ours."""

    def __init__(self, te: Any, job: dict[str, Any]):
        self.te, self.form, self.rollout = te, FORMS[job["env"]], job["mode"] == "rollout"
        self.batch, self.length = job["batch"], job["rollout_steps"] if self.rollout else 1
        self.games, self.steps = self.form(self.batch), self.batch * self.length

    def play(self) -> None:
        if self.rollout:
            self.games.begin()
            self.games.play(self.length)
        else:
            assert isinstance(self.games, TicTacToe)
            self.games.step()

    def wait(self) -> None:
        """All is done when it returns."""

    def episode_stats(self) -> EpisodeStats:
        compare(self.te, self.form(CHECK["batch"]), CHECK["steps"])
        games = self.form(max(self.batch, MIN_EPISODES))

        def step() -> tuple[np.ndarray, np.ndarray]:
            games.play(1)
            now = games.numpy()
            return now["rewards"][:, 0], now["terminated"]

        return play_first_episodes(games.batch, step)

    def about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"state_bytes_per_game": self.games.games.itemsize / self.games.lanes}
        if isinstance(self.games, TicTacToe) and not self.rollout:
            about["bytes_per_step"] = self.games.step_bytes * self.games.rows
        return about

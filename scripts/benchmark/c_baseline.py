"""Hand-written C that plays the same games, as an upper bound for this machine (`benchmark.py --limits`).

`limits/*.c` use the same random generator for the same rows, so their games are identical bit for bit: `compare` checks
them against `te.rollout` before anything is timed. They are compiled for this machine on first use, by the compiler
that tinygrad uses, and linked by the ziglang wheel's linker, so nothing else must be installed. Linux only.
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
# the compared rollout, long enough that a game of gomoku ends in most rows
CHECK = {"batch": 100, "steps": 150}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")


@functools.cache
def library(game: str, *flags: str) -> ctypes.CDLL:
    """Build a game's C and load it, with `flags` after -O3 and -march=native. Raise RuntimeError if that fails."""
    from tensor_envs._runtime.clang import cpu_compiler

    if sys.platform != "linux":
        raise RuntimeError(f"the C of {game!r} is built on Linux alone, and this is {sys.platform}")
    native = "-march=native" if platform.machine() == "x86_64" else "-mcpu=native"
    with tempfile.TemporaryDirectory() as folder:
        code, built = str(Path(folder, "game.o")), str(Path(folder, "game.so"))
        source = str(FOLDER / f"{game}.c")
        _run(cpu_compiler(), "-c", "-O3", native, "-ffreestanding", "-fPIC", *flags, source, "-o", code)
        _run(sys.executable, "-m", "ziglang", "ld.lld", "-shared", code, "-o", built)
        return ctypes.CDLL(built)


class CGames:
    """Games in the memory of the C code. Subclasses define the layout and the conversion to a `State`'s fields."""

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
        """Return the dtype of a C struct, the number of games in it, and the divisor of the number of rows."""
        raise NotImplementedError

    def numpy(self) -> dict[str, np.ndarray]:
        """Return the games as the fields of a `State`, with a rollout's `wins` [B, 2] and the last `action`."""
        raise NotImplementedError

    def _constant(self, name: str) -> int:
        return ctypes.c_int64.in_dll(self.c, name).value

    def _call(self, function: str, *arguments: Any) -> None:
        pointer = ctypes.c_void_p(self.games.ctypes.data)
        getattr(self.c, function)(pointer, ctypes.c_int64(self.rows), *arguments)

    def begin(self) -> None:
        """Start episode 0 of every row."""
        self._call("begin", ctypes.c_uint32(self.seed & 0xFFFFFFFF), ctypes.c_uint32(self.seed >> 32))

    def play(self, steps: int) -> None:
        """Play some steps and sum up rewards and wins."""
        self._call("play", ctypes.c_int64(steps))


class TicTacToe(CGames):
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
        """Play one step, without sums."""
        self._call("step")

    @property
    def step_bytes(self) -> int:
        """Bytes that a step of one game reads and writes."""
        size = {name: self.games[name].nbytes // self.rows for name in (*self.state, *self.output)}
        return sum(size.values()) + sum(size[name] for name in self.state if name != "key")

    def _rows(self, name: str) -> np.ndarray:
        """Return a field as [B, n]."""
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
        """Convert counters of lines to cells as bits. Cell 8 follows from its row's counter and other marks."""
        lines = self._rows(player)
        last = (lines >> 6) ^ (lines >> 30) ^ (lines >> 31) ^ 1
        return lines >> 24 | (last & 1) << 8


class Gomoku(CGames):
    name = "gomoku"
    SIDE, CELLS, LINES = 15, 225, 88

    def layout(self) -> tuple[np.dtype[Any], int, int]:
        board = [("free", "u8", (4,)), ("key", "u4", (2,)), ("ply", "u4", ()), ("episode", "u4", ())]
        output = [("rewards", "f4", (2,)), ("wins", "u4", (2,)), ("action", "u4", ()), ("terminated", "u4", ())]
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
        """Convert lines, of which the first are the rows of the board, to cells packed into words."""
        rows = np.ascontiguousarray(lines[:, : self.SIDE]).view(np.uint8)
        cells = np.unpackbits(rows, axis=1, bitorder="little").reshape(-1, self.SIDE, 16)[:, :, : self.SIDE]
        padded = np.pad(cells.reshape(-1, self.CELLS), [(0, 0), (0, -self.CELLS % 32)])
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint32)


FORMS: dict[str, type[CGames]] = {form.name: form for form in (TicTacToe, Gomoku)}


def compare(te: Any, games: CGames, steps: int) -> None:
    """Raise RuntimeError with the differing fields unless new games in C equal those of `te.rollout` bit for bit."""
    env = te.make(games.name)
    whole = te.rollout(env, "uniform", games.batch, steps, seed=games.seed, device="CPU")
    expected = whole.state.numpy() | {"episode": whole.episodes.numpy(), "wins": whole.wins.numpy()}
    del expected["terminated"]  # in C it belongs to the last step, not to the state after the reset
    games.begin()
    games.play(steps)
    actual = games.numpy()
    first = actual["wins"][:, 0].astype(np.float32) - actual["wins"][:, 1]
    _check(actual | {"returns": np.stack([first, -first], 1)}, expected | {"returns": whole.returns.numpy()}, games)
    if isinstance(games, TicTacToe):
        games.begin()
        for _ in range(steps):
            games.step()
        _check(games.numpy() | {"wins": actual["wins"]}, actual, games)


def _check(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray], games: CGames) -> None:
    wrong = [name for name in expected if not np.array_equal(np.squeeze(actual[name]), np.squeeze(expected[name]))]
    if wrong:
        raise RuntimeError(f"statistics: the C of {games.name!r} plays other games, by {', '.join(wrong)}")


class CBaseline:
    """Runner of the C code: "step", or "rollout" including first states, as in `te.rollout`."""

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
        """Return at once: C is synchronous."""

    def episode_stats(self) -> EpisodeStats:
        compare(self.te, self.form(CHECK["batch"]), CHECK["steps"])
        games = self.form(max(self.batch, MIN_EPISODES))

        def step() -> tuple[np.ndarray, np.ndarray]:
            games.play(1)
            now = games.numpy()
            return now["rewards"][:, 0], now["terminated"]

        return play_first_episodes(games.batch, step)

    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"state_bytes_per_game": self.games.games.itemsize / self.games.lanes}
        if isinstance(self.games, TicTacToe) and not self.rollout:
            metadata["bytes_per_step"] = self.games.step_bytes * self.games.rows
        return metadata

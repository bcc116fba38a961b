"""Play thousands of games of tic-tac-toe on a board of any shape, or check boards for lines.

    python scripts/hyperdimensional_tictactoe.py
    python scripts/hyperdimensional_tictactoe.py --shape 4 4 4 --k 4 --show 0 --svg qubic.svg
    python scripts/hyperdimensional_tictactoe.py --shape 50 50 50 50 50 --k 5 --board random

A line is k marks of one player along one of the (3^N - 1) / 2 directions of an N-dimensional board. Its rank is the
number of axes along which it moves.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from math import comb, prod
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs import ops
from tensor_envs._command import BUSY_SECONDS, busy, command_parser, device_of, new_file, run
from tensor_envs._validate import need
from tensor_envs.games.hyper_tic_tac_toe.render import draw, to_string

NAMES = {1: "first player (X)", -1: "second player (O)"}
SHAPE, K, BATCH = (3, 3, 3), 3, 4096
MAX_DRAWN_CELLS = 100_000  # of a board that is printed or drawn
MAX_LISTED_BOARDS, MAX_LISTED_LINES = 8, 4
PLIES_PER_KERNEL = 64
BAR_AFTER, BAR_EVERY, BAR_WIDTH = 1.0, 0.1, 40  # seconds, seconds, characters


def make_parser() -> argparse.ArgumentParser:
    parser = command_parser("python scripts/hyperdimensional_tictactoe.py", __doc__)
    sides = "x".join(map(str, SHAPE))
    parser.add_argument(
        "--shape",
        action="sequence",
        type=int,
        nargs="+",
        metavar="N",
        help=f"side lengths of the board (default: {sides})",
    )
    parser.add_argument("--k", type=int, default=K, help="marks in a line that win (default: %(default)s)")
    parser.add_argument("--gravity", action="store_true", help="marks fall to the last index of the first axis")
    parser.add_argument("--misere", action="store_true", help="who completes a line loses")
    parser.add_argument("--batch", type=int, help=f"games, or random boards (default: {BATCH} games, 1 board)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the games or random boards (default: 0)")
    parser.add_argument("--device", help="any tinygrad device, such as CPU or CUDA (default: tinygrad's)")
    parser.add_argument(
        "--board",
        metavar="FILE",
        help="check boards instead of playing: a .npy file of integers -1, 0, 1, or 'random'. The array is one board, "
        "or with --shape a batch of boards of that shape",
    )
    parser.add_argument("--show", type=int, metavar="I", help="print game or board I, lines in brackets")
    parser.add_argument("--svg", type=new_file, metavar="FILE", help="draw it (I: see --show; default: 0) as SVG")
    parser.add_argument("--png", type=new_file, metavar="FILE", help="draw it as PNG; needs the extra 'draw'")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    run(make_parser(), work, arguments)


def work(options: argparse.Namespace) -> None:
    if options.board is not None and (options.gravity or options.misere):
        raise ValueError("--gravity and --misere go with games: a board of --board is checked for lines alone")
    array = None if options.board is None else load(options)
    one_board = array is not None and options.shape is None and options.board != "random"
    shape = array.shape if array is not None and one_board else tuple(options.shape or SHAPE)
    with busy("setting the board up"):
        env = te.make("hyper_tic_tac_toe", shape=shape, k=options.k, gravity=options.gravity, misere=options.misere)
        boards = (options.batch or BATCH) if array is None else prod(array.shape[: array.ndim - len(shape)])
        check_pictures(options, boards, prod(shape))
        result: CheckedBoards | PlayedGames = (
            PlayedGames(env, options) if array is None else CheckedBoards(env, array, options)
        )
    print_board(shape, options.k)
    result.run()
    result.report()
    show(options, env, result)


def load(options: argparse.Namespace) -> np.ndarray:
    """Load the boards of --board, integers [*batch, *shape]."""
    shape = tuple(options.shape or SHAPE)
    if options.board == "random":
        te.make("hyper_tic_tac_toe", shape=shape, k=options.k)  # raises an error before a huge array is allocated
        if options.seed < 0 or (options.batch is not None and options.batch < 1):
            raise ValueError(f"need --seed >= 0 and --batch >= 1, got {options.seed} and {options.batch}")
        batch = () if options.batch is None else (options.batch,)
        return np.random.default_rng(options.seed).integers(-1, 2, (*batch, *shape), np.int8)
    if options.batch is not None:
        raise ValueError(
            "--batch goes with games or with --board random: a file's own shape says how many boards it holds"
        )
    try:
        array = np.load(options.board, allow_pickle=False)
    except (ValueError, EOFError):
        array = None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{options.board} is no .npy file of an array of integers")
    if options.shape is not None and array.shape[max(array.ndim - len(shape), 0) :] != shape:
        raise ValueError(
            f"{options.board} holds an array of shape {array.shape}, which does not end in --shape {shape}"
        )
    if array.size == 0:
        raise ValueError(f"{options.board} holds an array of shape {array.shape}: no board")
    return array


def check_pictures(options: argparse.Namespace, boards: int, cells: int) -> None:
    """Raise ValueError or ImportError before a long run whose result could not be drawn."""
    if options.show is not None and not 0 <= options.show < boards:
        raise ValueError(f"--show must be in 0..{boards - 1}, got {options.show}")
    if cells > MAX_DRAWN_CELLS and (options.show is not None or options.svg or options.png):
        raise ValueError(f"a board of {cells:,} cells is too large to show or draw: at most {MAX_DRAWN_CELLS:,}")
    if options.png:
        need("PIL", "--png", "draw")


def print_board(shape: tuple[int, ...], k: int) -> None:
    """Print the board's size and the number of its directions and lines by rank, from closed formulas."""
    n = len(shape)
    # choices[r] is a sum over all sets of r axes: placements along these axes times cells along the others
    choices = [1]
    for side in shape:
        moved = max(side - k + 1, 0)
        choices = [a * side + b * moved for a, b in zip([*choices, 0], [0, *choices], strict=True)]
    of_rank = [choices[rank] * 2 ** (rank - 1) for rank in range(1, n + 1)]
    lines = prod(shape) if k == 1 else sum(of_rank)  # a single cell is one line in all directions
    sides = "x".join(map(str, shape))
    print(f"board {sides}, k = {k}: {prod(shape):,} cells, {ops.num_directions(n):,} directions, {lines:,} lines")
    for rank, count in enumerate(of_rank, start=1):
        print(f"  rank {rank}: {comb(n, rank) * 2 ** (rank - 1):,} directions, {count:,} lines")


# *** games ***


class PlayedGames:
    """Games that the uniform policy plays to their ends."""

    def __init__(self, env: te.Env, options: argparse.Namespace):
        self.env, self.batch = env, BATCH if options.batch is None else options.batch
        self.cells = prod(env.rules.shape)
        check_memory(env, self.batch)
        self.begin = time.perf_counter()
        self.final = env.init(self.batch, options.seed, options.device)

    def run(self) -> None:
        """Play and time all games: the first ply, which compiles, then many plies per kernel until all games end."""
        with busy("compiling"):
            finished = self.play(1)
        self.compile_seconds = time.perf_counter() - self.begin
        bar, begin, ply = ProgressBar(self.cells), time.perf_counter(), 1
        while finished < self.batch:
            plies = max(1, min(PLIES_PER_KERNEL, self.cells - ply))
            finished, ply = self.play(plies), ply + plies
            bar.show(ply, f"plies, {finished:,} of {self.batch:,} games over")
        self.seconds = time.perf_counter() - begin
        bar.clear()

    def play(self, plies: int) -> int:
        """Play some plies of all games and return the number of finished games."""
        self.final = te.rollout_from(self.final, "uniform", plies, autoreset="disabled").state
        return int(self.final.terminated.sum().item())

    @cached_property
    def winners(self) -> np.ndarray:
        """Winners, int32 [B]: 1, -1, or 0 for a draw, computed by convolution from the final boards."""
        planes = self.env.observe(self.final, player=0).cast("int8")
        boards, rules = planes[:, 0] - planes[:, 1], self.env.rules
        with busy("looking for the lines of the winners"):
            owners: np.ndarray = ops.winner(boards, rules.k, rank=len(rules.shape)).numpy()
        return -owners if rules.misere else owners

    def report(self) -> None:
        plies = int(self.final.ply.cast("int64").sum().item())
        print(f"played {self.batch:,} games to the end by the uniform policy on {self.final.device}")
        for mark, name in (*NAMES.items(), (0, "draw")):
            count = int((self.winners == mark).sum())
            print(f"  {name + ' wins' if mark else 'draws':<25}{count:>10,}  {count / self.batch:.3f}")
        print(f"  mean plies               {plies / self.batch:>10.2f}")
        speed = f"{(plies - self.batch) / self.seconds:,.0f}" if plies > self.batch else "-"
        print(f"  steps/s                  {speed:>10}")
        print(f"  compile seconds          {self.compile_seconds:>10.2f}")

    def state(self, i: int) -> dict[str, Any]:
        return self.env.state_to_dict(self.final, i)


def check_memory(env: te.Env, batch: int) -> None:
    """Raise ValueError if the machine lacks memory for two states and the boards that are checked at the end."""
    need = batch * (2 * env.state_bytes + 4 * env.num_actions)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else need
    if need > have:
        raise ValueError(
            f"{batch:,} games of {env.num_actions:,} cells take {need / 1e9:,.0f} GB, more than this machine has: "
            "lower --batch, or check one board with --board random"
        )


class ProgressBar:
    """Progress bar on stderr, which appears after a second; without a terminal it prints a single line."""

    def __init__(self, total: int):
        self.total, self.begin, self.shown = total, time.perf_counter(), 0.0
        self.terminal = sys.stderr.isatty()

    def show(self, done: int, text: str) -> None:
        now = time.perf_counter()
        if not self.terminal and not self.shown and now - self.begin > BUSY_SECONDS:
            self.shown = now
            print(f"{done:,} of {self.total:,} {text} ...", file=sys.stderr, flush=True)
        if self.terminal and now - self.begin > BAR_AFTER and now - self.shown > BAR_EVERY:
            self.shown, full = now, BAR_WIDTH * done // self.total
            bar = "#" * full + "." * (BAR_WIDTH - full)
            print(f"\r[{bar}] {done:,} of {self.total:,} {text} ", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.terminal and self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


# *** boards ***


class CheckedBoards:
    """Boards that are checked for lines."""

    def __init__(self, env: te.Env, array: np.ndarray, options: argparse.Namespace):
        shape = env.rules.shape
        self.k, self.device = env.rules.k, options.device
        self.single = array.ndim == len(shape)
        self.boards = array.reshape(-1, *shape)
        self.directions = [d for d in ops.line_directions(len(shape)) if ops.placements(shape, self.k, d)]
        self.begin = time.perf_counter()
        self.lazy_counts = ops.count_lines(self.boards, self.k, len(shape), self.device)

    def run(self) -> None:
        with busy("checking, one direction after the other"):
            counts = self.lazy_counts.numpy()
        self.seconds = time.perf_counter() - self.begin
        if self.k == 1:  # a single cell is one line in all directions
            counts, self.directions = counts[:, :1], self.directions[:1]
        self.counts: np.ndarray = counts  # [boards, directions, 2]

    def report(self) -> None:
        has: np.ndarray = np.any(self.counts, axis=1)  # [boards, 2]
        winners = has[:, 0].astype(int) - has[:, 1]
        print(
            f"checked {len(has):,} board{'s' if len(has) > 1 else ''} in {self.seconds:.2f} s "
            f"on {device_of(self.device)}, compilation included"
        )
        if self.single:
            self.print_winner(0, "winner: ")
            return
        for mark, name in NAMES.items():
            print(f"  {name + ' wins':<25}{int((winners == mark).sum()):>10,}")
        print(f"  {'both have lines':<25}{int(has.all(axis=1).sum()):>10,}")
        print(f"  {'no line':<25}{int((~has.any(axis=1)).sum()):>10,}")
        with_lines = np.flatnonzero(has.any(axis=1))
        for i in with_lines[:MAX_LISTED_BOARDS]:
            self.print_winner(int(i), f"board {i}: ")
        if len(with_lines) > MAX_LISTED_BOARDS:
            print(f"and {len(with_lines) - MAX_LISTED_BOARDS:,} more boards with lines")

    def print_winner(self, i: int, title: str) -> None:
        """Print who has won board i, and the lines."""
        totals = self.counts[i].sum(axis=0, dtype=np.int64)
        owners = [name for name, total in zip(NAMES.values(), totals, strict=True) if total]
        verdict = ("none", "the " + " and the ".join(owners))[bool(owners)]
        print(title + verdict + (", both with lines: no play of the game leads here" if len(owners) == 2 else ""))
        for rank in sorted({sum(map(abs, d)) for d in self.directions}) if owners else ():
            of_rank = [sum(map(abs, d)) == rank for d in self.directions]
            first, second = self.counts[i][of_rank].sum(axis=0, dtype=np.int64)
            if first or second:
                print(f"  lines of rank {rank}: {first:,} of the first player, {second:,} of the second")
        if owners:
            counts = None if self.k == 1 else self.counts[i]
            for line in ops.find_lines(self.boards[i], self.k, MAX_LISTED_LINES, self.device, counts):
                cells = " ".join(f"({','.join(map(str, cell))})" for cell in line.cells(self.k))
                print(f"  {NAMES[line.player]}: {cells}")
            if totals.sum() > MAX_LISTED_LINES:
                print(f"  and {totals.sum() - MAX_LISTED_LINES:,} more")

    def state(self, i: int) -> dict[str, Any]:
        board = [int(mark) for mark in self.boards[i].reshape(-1)]
        return {"board": board, "current_player": int(sum(board) > 0)}


def show(options: argparse.Namespace, env: te.Env, result: PlayedGames | CheckedBoards) -> None:
    """Print and draw the game or board that the options select."""
    if options.show is None and not options.svg and not options.png:
        return
    state = result.state(options.show or 0)
    if options.show is not None:
        print(f"\n{to_string(env.rules, state)}")
    picture = draw(env.rules, state)
    if options.svg:
        options.svg.write_text(picture.to_svg(), encoding="utf-8")
    if options.png:
        picture.save_png(options.png)


if __name__ == "__main__":
    main()

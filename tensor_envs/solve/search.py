"""Search for the exact values of single positions of games that are too large to enumerate."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.devices import download, empty_buffer, is_gpu, resolve, upload, write
from tensor_envs._compiler.threads import num_threads
from tensor_envs._engine.batch_layout import LANES, BatchLayout, BlockGrid
from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import instance, wrong_type
from tensor_envs.env import Env
from tensor_envs.solve.bit_maps import bit_maps
from tensor_envs.solve.branches import Branches, counter
from tensor_envs.solve.outcomes import facts
from tensor_envs.solve.packed import Array
from tensor_envs.solve.proof import (
    BEGIN,
    CLAIMS,
    FAR,
    MAX_PLIES,
    NO_ACTION,
    OTHER_RESULTS,
    PAID_EARLY,
    PROVEN,
    RUNNING,
    TOO_DEEP,
    Control,
    Packing,
    Prove,
    Sizes,
)
from tensor_envs.solve.transpositions import BUCKET, entry_words
from tensor_envs.solve.values import ExactValues
from tensor_envs.state import State

DEPTH = 1000  # plies of the longest line
STACK = 2**25  # upper bound for the words of a thread's stack
GPU_BLOCKS = 16  # of 64 threads
LAUNCHES = 2**12, 2**18  # nodes that a launch enters: the fewest, and the most
ANSWER = Control.status, Control.reached, Control.bound
MAX_QUESTIONS = 2**30  # before their numbers repeat

# a question is a threshold; its answer is whether the score reaches it, and a bound of the score
Questions = Generator[int, tuple[bool, int], int]


class SearchSolution(ExactValues):
    """Exact values of the positions that it is asked about, searched on demand, made by `te.solve`.

    The search is exact however small its memory is; a larger table makes it faster. What it has found stays in the
    table, so a question that was interrupted, as by Ctrl-C, goes on where it was when it is asked again.

    Attributes:
        env: the environment.
        memory: bytes of the table, which all threads share.
        nodes: number of positions searched so far.

    Examples:
        >>> solution = te.solve(te.make("connect_four", rows=5, columns=4), method="search")
        >>> state = solution.env.init(1)
        >>> solution.value(state), solution.distance(state)
        (array([0], dtype=int32), array([-1], dtype=int32))
    """

    def __init__(self, start: Env | State, memory: int, progress: bool):
        if not isinstance(start, (Env, State)):
            raise wrong_type("start", "an Env or a State", start)
        self.env, self.memory, self.progress, self.nodes = (
            start if isinstance(start, Env) else start.env,
            memory,
            progress,
            0,
        )
        spec, game = self.env.spec, self.env.engine.game
        if spec.num_players != 2 or not spec.zero_sum or spec.chance or not spec.perfect_information or game.has_memory:
            raise ValueError(
                "start must be of a game for two with zero sum, without chance, hidden information and memory fields "
                f"to be searched, got {self.env!r}"
            )
        self._wins = True
        device = resolve(None) if isinstance(start, Env) else start.device
        if not isinstance(device, str):
            raise ValueError(f"start must be on one device, got {device}")
        by_ply = facts(self.env.rules).by_ply
        self._packing, self._sizes = Packing(spec, by_ply), Sizes.of(game, by_ply)
        threads = GPU_BLOCKS * LANES if is_gpu(device) else num_threads()
        grid = BlockGrid(GPU_BLOCKS, LANES, True) if is_gpu(device) else BlockGrid(threads, 1, False)
        self._layout = BatchLayout(threads, device, 1, grid)
        depth = min(DEPTH, STACK // (self._sizes.frame + 2 * self._sizes.position * self._sizes.width))
        maps = bit_maps(Branches(start), self._packing.layout, self._packing.kept)
        self._kernel = Prove(by_ply, depth, maps)
        bucket = BUCKET * entry_words(self._sizes.position)
        self._buckets = memory // (4 * bucket)
        if not self._buckets:
            raise ValueError(f"memory must be at least {4 * bucket} bytes, got {memory}")
        self._nodes, self._questions = LAUNCHES[0], 0
        self._arrays = self._allocated(depth)
        if isinstance(start, State):
            self._scores(start)

    def __repr__(self) -> str:
        return f"<SearchSolution of {self.env!r}: {self.nodes} positions searched>"

    def _allocated(self, depth: int) -> Prove.Arrays:
        """Return buffers: an empty table and history, and the other arrays uninitialised."""
        sizes, threads, device = self._sizes, self._layout.batch, self._layout.device
        per_thread = {
            "control": (Control.size + sizes.position, dtypes.int32),
            "frames": (depth * sizes.frame, dtypes.int32),
            "states": (depth * 2 * sizes.position * sizes.width, dtypes.uint32),
            "history": (sizes.history, dtypes.int32),
        }
        arrays = {name: empty_buffer(threads * size, dtype, device) for name, (size, dtype) in per_thread.items()}
        table = self._buckets * BUCKET * entry_words(sizes.position)
        shared = {"claims": CLAIMS, "table": table}
        arrays |= {name: empty_buffer(size, dtypes.uint32, device) for name, size in shared.items()}
        for name, dtype in (("history", np.int32), ("claims", np.uint32), ("table", np.uint32)):
            write(arrays[name], np.zeros(arrays[name].shape, dtype))
        return Prove.Arrays(limits=self._limits(), **arrays)

    def _limits(self) -> Tensor:
        limits = np.array([self._nodes, self._buckets], np.int64).astype(np.uint32).view(np.int32)
        return upload(limits, self._layout.device)

    # *** positions ***

    def regret(self, state: State, action: Any) -> Array:
        """Return how much of the position's value an action gives away, [B]; an illegal one, or -1, has value -1."""
        actions = host_ints("action", action, state.batch, self.env.num_actions, low=-1)
        legal = state.numpy()["legal_action_mask"][np.arange(state.batch), actions] & (actions >= 0)
        rows = np.flatnonzero(legal)
        after = np.full(state.batch, -1)
        if len(rows):
            children = self.env.step(state[rows.astype(np.int32)], actions[rows])
            after[rows] = self._reported(self._scores(children, exact=False)) * self._turn(state)[rows]
        return self.value(state) - after

    @property
    def _has_line(self) -> bool:
        return True

    def _scores(self, state: State, exact: bool = True) -> Array:
        instance("state", state, State)
        self.env.check_state(state)
        values = state.numpy()
        turn = np.where(values["current_player"] == 0, 1, -1)
        scores = (values["rewards"][:, 0] * FAR).astype(np.int32)  # of finished games
        live = np.flatnonzero(~(values["terminated"] | values["truncated"]))
        if len(live):
            scores[live] = self._searched(self._words(values, live), exact) * turn[live]
        return scores

    def _action_scores(self, state: State, exact: bool = True) -> tuple[Array, Array]:
        instance("state", state, State)
        legal: Array = state.numpy()["legal_action_mask"]
        scores = np.zeros(legal.shape, np.int32)
        rows, actions = np.nonzero(legal)
        if len(rows):
            after = self._scores(self.env.step(state[rows.astype(np.int32)], actions), exact)
            scores[rows, actions] = after - np.sign(after)
        return scores, legal

    def _words(self, values: dict[str, Array], rows: Array) -> Array:
        """Return the packed words of some rows, uint32 [rows, words]."""
        fixed = {"episode": 0} if self._packing.by_ply else {"episode": 0, "ply": 0}
        if self._packing.by_ply and values["ply"][rows].max() > MAX_PLIES - self._kernel.depth:
            raise ValueError(f"state must be of at most {MAX_PLIES - self._kernel.depth} plies to be searched")
        names = self._packing.layout.slots
        games = [{name: values[name][row].tolist() for name in names} | fixed for row in rows.tolist()]
        return self._packing.layout.pack(games)[:, self._packing.kept]

    # *** the search ***

    def _searched(self, words: Array, exact: bool) -> Array:
        """Return the scores of unfinished positions for the player to move, int32 [rows]."""
        threads, scores = self._layout.batch, np.zeros(len(words), np.int32)
        control = np.zeros((threads, Control.size + self._sizes.position), np.int32)
        waiting = deque(range(len(words)))
        asked: dict[int, Questions] = {}  # by the rows that are searched
        question: dict[int, Array] = {}
        row_of = np.full(threads, -1)  # that a thread works on
        bar = counter("search", None, self.progress)
        self._resize(LAUNCHES[0])
        while waiting or asked:
            while waiting and len(asked) < threads:
                row = waiting.popleft()
                asked[row] = questions(exact)
                question[row] = self._question(words[row], next(asked[row]))
            for thread in np.flatnonzero(row_of < 0).tolist():
                row_of[thread] = row = min(asked, key=lambda row: np.count_nonzero(row_of == row))
                control[thread] = question[row]
            write(self._arrays.control, control.ravel())
            self.env.engine.run(self._kernel, self._layout, self._arrays)
            control = download(self._arrays.control).reshape(control.shape)
            nodes = int(control[:, Control.nodes.index].sum())
            self.nodes += nodes
            bar.update(nodes)
            answered = dict[int, Array]()  # the first answer to each question
            for thread in np.flatnonzero(control[:, Control.status.index] != RUNNING).tolist():
                answered.setdefault(int(row_of[thread]), control[thread])
            for row, answer in answered.items():
                row_of[row_of == row] = -1
                status, reached, bound = (int(answer[e.index]) for e in ANSWER)
                self._check(status)
                try:
                    question[row] = self._question(words[row], asked[row].send((bool(reached), bound)))
                except StopIteration as result:
                    scores[row] = result.value
                    del asked[row]
            self._resize(self._nodes // 2 if answered else self._nodes * 2)
        bar.update(0, close=True)
        return scores

    def _resize(self, nodes: int) -> None:
        """Set the nodes of a launch, within `LAUNCHES`: few while questions are answered, since threads wait for it."""
        nodes = min(max(nodes, LAUNCHES[0]), LAUNCHES[1])
        if nodes != self._nodes:
            self._nodes = nodes
            self._arrays = self._arrays._replace(limits=self._limits())

    def _question(self, words: Array, threshold: int) -> Array:
        """Return a thread's control words for a new question."""
        control = np.zeros(Control.size + self._sizes.position, np.int32)
        control[Control.threshold.index], control[Control.mode.index] = threshold, BEGIN
        control[Control.status.index] = RUNNING
        self._questions = self._questions % MAX_QUESTIONS + 1
        control[Control.question.index] = self._questions
        control[Control.size :] = words.view(np.int32)
        return control

    def _check(self, status: int) -> None:
        """Raise ValueError for a game that cannot be searched."""
        reasons = {
            TOO_DEEP: f"whose lines of play end within {self._kernel.depth} plies",
            NO_ACTION: "in which whoever is to move can",
            OTHER_RESULTS: "with no results but wins, draws and losses",
            PAID_EARLY: "that pays at its end alone",
        }
        if status != PROVEN:
            raise ValueError(f"state must be of a game {reasons[status]} to be searched, {self.env!r} is not")


def questions(exact: bool) -> Questions:
    """Yield thresholds until a score for the player to move is known, or unless `exact` its sign; return the score."""
    low, high = -FAR, FAR
    while low < high if exact else not (low > 0 or high < 0 or low == high):
        # first the sign, then whether a win can be faster, or a loss later
        threshold = low + 1 if low > 0 else high if high < 0 else int(high > 0)
        reached, bound = yield threshold
        low, high = (max(low, bound), high) if reached else (low, min(high, bound))
    return low if low > 0 or low == high else high

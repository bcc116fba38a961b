"""Search for the exact values of single positions of games that are too large to enumerate."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import LANES, BatchLayout, BlockGrid
from tensor_envs._engine.inputs import host_ints
from tensor_envs._runtime.buffers import download, empty_buffer, host_memory, upload, write
from tensor_envs._runtime.devices import is_gpu
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.progress import Reports
from tensor_envs._runtime.threads import num_threads
from tensor_envs._validate import file_path, instance, integer, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_of, has_words_of, words_metadata
from tensor_envs.envs.state import State
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.solve import claims
from tensor_envs.solve.bounds import ROW_BYTES, Bounds, bounds_of, fill
from tensor_envs.solve.branches import progress_bar
from tensor_envs.solve.canonical import BitMaps
from tensor_envs.solve.field_maps import FieldMaps
from tensor_envs.solve.outcomes import facts
from tensor_envs.solve.packed import Array
from tensor_envs.solve.proof import (
    BEGIN,
    NO_MOVE,
    OTHER_RESULTS,
    PAID_EARLY,
    PROVEN,
    RUNNING,
    TOO_DEEP,
    WIN_SCORE,
    Prove,
)
from tensor_envs.solve.stack import MAX_PLIES, REPEATS, Control, Packing, Sizes
from tensor_envs.solve.transpositions import BUCKET, entry_words
from tensor_envs.solve.values import ExactValues

FORMAT = "tensor_envs search 1"
HEAD_BYTES = 2048  # bytes of a file without rows
MAX_MEMORY = 2**34  # bytes that 32-bit indices of a table can address
MAX_LINE = 1000  # plies of the longest line
STACK_WORDS = 2**25  # upper bound for the words of a stack, and of all stacks if a thread has several
STACKS = 64  # on a CPU with fewer threads, so that many positions share the cost of a launch
GPU_BLOCKS = 16  # blocks of 64 threads
MIN_LAUNCH = 2**12  # fewest nodes that a stack enters in a launch, unless its question is answered before
MAX_LAUNCH = 2**18  # most nodes that the stacks of a thread enter in a launch
MAX_QUESTIONS = 2**30  # number of questions before their numbers repeat

# A question asks whether a score reaches a threshold. Generators of questions yield thresholds, receive whether the
# score reaches each, with a bound of the score, and return the result.
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
        self.env = start if isinstance(start, Env) else start.env
        self.memory = memory
        self.progress = progress
        self.nodes = 0
        spec = self.env.spec
        game = self.env.engine.game
        if spec.num_players != 2 or not spec.zero_sum or spec.chance or not spec.perfect_information or game.has_memory:
            raise ValueError(
                "start must be of a game for two with zero sum, without chance, hidden information and memory fields "
                f"to be searched, got {self.env!r}"
            )
        self._wins = True
        device = open_device(None) if isinstance(start, Env) else start.device
        if not isinstance(device, str):
            raise ValueError(f"start must be on one device, got {device}")
        # Rules that read the ply make equal boards of different plies different positions.
        by_ply = facts(self.env.rules).by_ply
        self._packing = Packing(spec, by_ply)
        self._sizes = Sizes.of(game, by_ply)
        node_words = self._sizes.frame + 2 * self._sizes.position * self._sizes.width
        # Every thread keeps a whole path in memory: games with many actions get shorter paths.
        depth = min(MAX_LINE, STACK_WORDS // node_words)
        if is_gpu(device):
            stacks = GPU_BLOCKS * LANES
            grid = BlockGrid(GPU_BLOCKS, LANES, True)
        else:
            # A thread of a CPU runs several stacks in turn, as many as memory allows.
            stacks = max(num_threads(), min(STACKS, STACK_WORDS // (depth * node_words)))
            grid = BlockGrid(stacks, 1, False)
        self._layout = BatchLayout(stacks, device, 1, grid)
        # A region of a set-colouring game names cells of one orientation, so that such games are searched without
        # symmetries.
        self._maps = BitMaps()
        if not self._sizes.cells:
            layout = self._packing.layout
            self._maps = FieldMaps(spec, layout, self.env.symmetries()).bit_maps(self._packing.kept)
        self._kernel = Prove(by_ply, depth, self._maps)
        bucket_bytes = 4 * BUCKET * entry_words(self._sizes.position, self._sizes.region)
        self._buckets = memory // bucket_bytes
        if not self._buckets:
            raise ValueError(f"memory must be at least {bucket_bytes} bytes, got {memory}")
        self._launch_nodes = MIN_LAUNCH  # nodes that a stack enters in a launch
        self._questions = 0  # number of the last question
        self._arrays = self._allocate(depth)
        # A game's folder may have a file with bounds of its first plies.
        if (path := opening_table(self.env)) is not None:
            self._fill(path)
        if isinstance(start, State):
            self._scores(start)

    def __repr__(self) -> str:
        return f"<SearchSolution of {self.env!r}: {self.nodes} positions searched>"

    def _allocate(self, depth: int) -> Prove.Arrays:
        """Allocate the kernel's arrays, and initialise those that are read before they are written."""
        sizes = self._sizes
        stacks = self._layout.batch
        device = self._layout.device
        per_stack = {
            "control": (Control.size + sizes.position, dtypes.int32),
            "frames": (depth * sizes.frame, dtypes.int32),
            "states": (depth * 2 * sizes.position * sizes.width, dtypes.uint32),
            "history": (sizes.history, dtypes.int32),
        }
        arrays = {name: empty_buffer(stacks * size, dtype, device) for name, (size, dtype) in per_stack.items()}
        table = self._buckets * BUCKET * entry_words(sizes.position, sizes.region)
        shared = {"claims": claims.ENTRIES, "table": table}
        arrays |= {name: empty_buffer(size, dtypes.uint32, device) for name, size in shared.items()}
        # An empty table must be zero. The other arrays are written before they are read.
        for name in shared:
            write(arrays[name], np.zeros(arrays[name].shape, np.uint32))
        actions = np.arange(self.env.num_actions, dtype=np.int32)
        # Before anything is learned, actions near the middle of the board come first: most games are decided there.
        middle = -np.abs(2 * actions - self.env.num_actions + 1)
        path_counts = np.zeros_like(actions)
        write(arrays["history"], np.tile(np.concatenate([np.tile(middle, 2 * REPEATS), path_counts]), stacks))
        return Prove.Arrays(limits=self._limits(), **arrays)

    def _limits(self) -> Tensor:
        """Upload the kernel's parameters, see `Limits`."""
        limits = np.array([self._launch_nodes, self._buckets], np.int64).astype(np.uint32).view(np.int32)
        return upload(limits, self._layout.device)

    # *** files ***

    def save(self, path: str | Path, max_bytes: int = 2_000_000) -> None:
        """Save the bounds of the positions that took the most work to a file; an existing file is replaced.

        A search that starts with them, by `load`, repeats none of that work.

        Args:
            path: the file.
            max_bytes: upper bound for its size.

        Raises:
            TypeError, ValueError: `path` is no path, or `max_bytes` is less than 2,048.
            OSError: the file cannot be written; an existing file stays as it was.
        """
        path = file_path("path", path)
        size = integer("max_bytes", max_bytes, HEAD_BYTES, MAX_MEMORY)
        memory = host_memory(self._arrays.table)
        table = memory[0] if memory else download(self._arrays.table)
        max_rows = (size - HEAD_BYTES) // ROW_BYTES
        bounds = bounds_of(table, self._sizes.position, self._sizes.region, max_rows, self._maps)
        row_bytes = ROW_BYTES + 8 * len(bounds.arrays()["keys"])
        arrays = bounds.first((size - HEAD_BYTES) // row_bytes).arrays()
        write_arrays(path, FORMAT, {"env": words_metadata(self.env)}, arrays)

    @staticmethod
    def load(path: str | Path, memory: int = 2**28) -> SearchSolution:
        """Start a search of a registered environment with the bounds of a file.

        Args:
            path: the file.
            memory: as in `te.solve`.

        Raises:
            FileNotFoundError: there is no such file.
            TypeError, ValueError: the file is damaged or of another kind; `memory` is out of range.
        """
        path = file_path("path", path)
        memory = integer("memory", memory, 1, MAX_MEMORY)
        metadata, _ = read_arrays(path, FORMAT)
        try:
            solution = SearchSolution(env_of(metadata["env"]), memory, False)
            solution._fill(path)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(f"{str(path)!r} holds no search that can be read: {error}") from None
        return solution

    def _fill(self, path: Path) -> None:
        """Replace the content of the table by the bounds of a file, of which at most an eighth of the table is filled.

        ValueError for a file of another environment.
        """
        metadata, arrays = read_arrays(path, FORMAT)
        if not has_words_of(metadata["env"], self.env):
            raise ValueError(f"it is of another environment than {self.env!r}")
        bounds = Bounds.of_arrays(arrays, self._sizes.position)
        table = np.zeros(self._arrays.table.shape, np.uint32)
        fill(table, bounds.first(self._buckets // (4 * (1 + len(self._maps.maps)))), self._sizes.region, self._maps)
        write(self._arrays.table, table)

    # *** positions ***

    def best_actions(self, state: State) -> Array:
        """Return the legal actions that keep the position's value, bool [B, A]."""
        return self._actions_that_keep(state, self.value(state))

    def some_best_actions(self, state: State) -> Array:
        """Return at least one legal action of each game that keeps its value, bool [B, A].

        It ends once one is proven for each game, so it takes less time than `best_actions`.
        """
        return self._actions_that_keep(state, self.value(state), every=False)

    def fastest_actions(self, state: State) -> Array:
        """Return the best actions that win fastest or resist longest, bool [B, A]."""
        return self._actions_that_keep(state, self._scores(state) * self._turn(state))

    def _actions_that_keep(self, state: State, scores: Array, every: bool = True) -> Array:
        """Return the legal actions after which the player to move still has a score, bool [B, A].

        Args:
            state: games of the environment.
            scores: scores of the players to move, or values, int32 [B].
            every: return all such actions. Otherwise the search of each game ends with the first one.
        """
        legal = state.numpy()["legal_action_mask"]
        # A position one ply later that keeps the score has a score one step farther from 0.
        wanted = scores + np.sign(scores)
        best = legal & (scores == -1)[:, None]  # every action keeps a lost value
        rows, actions = np.nonzero(legal & (scores != -1)[:, None])
        if len(rows):
            after = self.env.step(state[rows.astype(np.int32)], actions)
            turn = self._turn(state)[rows]
            same = self._turn(after) == turn
            # A player reaches a score by denying the opponent the next better one.
            thresholds = np.where(same, wanted[rows], 1 - wanted[rows])
            alternatives = None if every else Alternatives(rows, same)
            reached = self._scores(after, thresholds=thresholds, alternatives=alternatives) * turn
            best[rows, actions] = reached >= wanted[rows]
        return best

    def regret(self, state: State, action: Any) -> Array:
        """Return the position's value minus the action's, [B]; the value of an illegal action, or -1, is -1."""
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

    def _scores(
        self,
        state: State,
        exact: bool = True,
        thresholds: Array | None = None,
        alternatives: Alternatives | None = None,
    ) -> Array:
        """Return scores for player 0, int32 [B].

        Args:
            state: games of the environment.
            exact: without it a score may be any number of its sign.
            thresholds: scores of the players to move, [B]. The result is then only a bound, from which follows whether
                the score reaches the threshold.
            alternatives: the positions are alternatives, of which one suitable position of each game is enough. The
                others may have a bound as if they were not suitable. It needs `thresholds`.
        """
        instance("state", state, State)
        self.env.check_state(state)
        values = state.numpy()
        turn = np.where(values["current_player"] == 0, 1, -1)
        scores = (values["rewards"][:, 0] * WIN_SCORE).astype(np.int32)  # scores of finished games
        live = np.flatnonzero(~(values["terminated"] | values["truncated"]))
        if len(live):
            queries = [score_questions(exact) if thresholds is None else one_question(thresholds[row]) for row in live]
            dropped = None
            if alternatives is not None and thresholds is not None:
                game, reaches = alternatives
                unsuitable = thresholds - reaches
                # A suitable position that is over settles its game without a search.
                over = np.setdiff1d(np.arange(state.batch), live)
                suitable = over[(scores[over] * turn[over] >= thresholds[over]) == reaches[over]]
                settled = np.isin(game[live], game[suitable])
                dropped = Dropped(game[live], reaches[live], thresholds[live], settled)
            bounds = self._search(self._words(values, live), queries, dropped)
            if dropped is not None:
                bounds = np.where(dropped.rows, unsuitable[live], bounds)
            scores[live] = bounds * turn[live]
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
        """Return the packed words of some rows of `State.numpy`, uint32 [rows, words]."""
        fixed = {"episode": 0} if self._packing.by_ply else {"episode": 0, "ply": 0}
        if self._packing.by_ply and values["ply"][rows].max() > MAX_PLIES - self._kernel.depth:
            raise ValueError(f"state must be of at most {MAX_PLIES - self._kernel.depth} plies to be searched")
        names = self._packing.layout.slots
        games = [{name: values[name][row].tolist() for name in names} | fixed for row in rows.tolist()]
        return self._packing.layout.pack(games)[:, self._packing.kept]

    # *** the search ***

    def _search(self, words: Array, queries: list[Questions], dropped: Dropped | None = None) -> Array:
        """Return the results of questions about unfinished positions, int32 [rows].

        Args:
            words: packed words of the positions, uint32 [rows, words].
            queries: questions about each position, for the player to move.
            dropped: rows that need no search, which grow with the answers; their results are 0.
        """
        scores = np.zeros(len(words), np.int32)
        stacks = _Stacks(self._layout, Control.size + self._sizes.position)
        waiting = deque(row for row in range(len(words)) if dropped is None or not dropped.rows[row])
        control_of: dict[int, Array] = {}  # control words of the open question of each row that is searched
        bar = progress_bar("search", None, self.progress)
        reports = Reports()
        before = self.nodes
        self._set_launch_nodes(MIN_LAUNCH, 1)
        while waiting or control_of:
            # Open as many questions as there are stacks.
            while waiting and len(control_of) < self._layout.batch:
                row = waiting.popleft()
                control_of[row] = self._question(words[row], next(queries[row]))
            busy = stacks.assign(control_of)
            nodes = self._launch(stacks)
            bar.update(nodes)
            if not self.progress and (seconds := reports.due()) is not None:
                done = f"{self.nodes - before:,} positions in {seconds:.0f} s"
                left = f"{len(waiting) + len(control_of)} of {len(words)} questions are open"
                print(f"searching {self.env!r}: {done}, {left} ...", file=sys.stderr, flush=True)
            answers = stacks.answers()
            for row, answer in answers.items():
                if row not in control_of:  # dropped by an answer of the same launch
                    continue
                # Read the answer before its stack becomes idle, which changes its status.
                status = int(answer[Control.status.index])
                reached = bool(answer[Control.reached.index])
                bound = int(answer[Control.bound.index])
                stacks.release(row)
                self._check(status)
                try:
                    # The generator yields its next threshold, or returns the score.
                    control_of[row] = self._question(words[row], queries[row].send((reached, bound)))
                except StopIteration as result:
                    scores[row] = result.value
                    # An answer may settle the other actions of a game.
                    settled = [] if dropped is None else dropped.add_answer(row, result.value)
                    for other in (row, *settled):
                        control_of.pop(other, None)
                        stacks.release(other)
                    if dropped is not None:
                        waiting = deque(other for other in waiting if not dropped.rows[other])
            # Short launches answer quickly while questions end; long ones waste less on launching.
            self._set_launch_nodes(self._launch_nodes // 2 if answers else self._launch_nodes * 2, busy)
        bar.update(0, close=True)
        return scores

    def _launch(self, stacks: _Stacks) -> int:
        """Search in all stacks for one launch, and return the number of nodes that they entered."""
        write(self._arrays.control, stacks.control.ravel())
        self.env.engine.run(self._kernel, self._layout, self._arrays)
        stacks.control = download(self._arrays.control).reshape(stacks.control.shape)
        nodes = int(stacks.control[:, Control.nodes.index].sum())
        self.nodes += nodes
        return nodes

    def _set_launch_nodes(self, nodes: int, busy: int) -> None:
        """Set the number of nodes that a stack enters in a launch, within limits.

        The upper limit is for a thread with `busy` stacks, so that Ctrl-C soon ends a launch.
        """
        nodes = min(max(nodes, MIN_LAUNCH), max(MAX_LAUNCH // busy, MIN_LAUNCH))
        if nodes != self._launch_nodes:
            self._launch_nodes = nodes
            self._arrays = self._arrays._replace(limits=self._limits())

    def _question(self, words: Array, threshold: int) -> Array:
        """Return a stack's control words for a new question."""
        control = np.zeros(Control.size + self._sizes.position, np.int32)
        control[Control.threshold.index] = threshold
        control[Control.mode.index] = BEGIN
        control[Control.status.index] = RUNNING
        self._questions = self._questions % MAX_QUESTIONS + 1
        control[Control.question.index] = self._questions
        control[Control.size :] = words.view(np.int32)
        return control

    def _check(self, status: int) -> None:
        """Raise ValueError if a search has ended since the game cannot be searched."""
        reasons = {
            TOO_DEEP: f"whose lines of play end within {self._kernel.depth} plies",
            NO_MOVE: "in which whoever is to move can",
            OTHER_RESULTS: "with no results but wins, draws and losses",
            PAID_EARLY: "that pays at its end alone",
        }
        if status != PROVEN:
            raise ValueError(f"state must be of a game {reasons[status]} to be searched, {self.env!r} is not")


class _Stacks:
    """Stacks of a launch, and the question that each of them searches.

    Attributes:
        control: control words of every stack, int32 [stacks, words].
    """

    def __init__(self, layout: BatchLayout, words: int):
        count = layout.batch
        self.control = np.zeros((count, words), np.int32)
        # The kernel skips a stack whose question is proven: at first all are idle.
        self.control[:, Control.status.index] = PROVEN
        self._row_of = np.full(count, -1)  # row of each stack's question, -1 if it is idle
        # The pool hands slices of stacks to any free thread, so this is only roughly the thread of each stack.
        threads = count if is_gpu(layout.device) else min(num_threads(), count)
        self._thread_of = np.arange(count) * threads // count
        number_in_thread = np.arange(count) - np.searchsorted(self._thread_of, self._thread_of)
        # Fill one stack of each thread before the second one of any.
        self._order = np.argsort(number_in_thread, kind="stable")

    def assign(self, questions: Mapping[int, Array]) -> int:
        """Assign questions to idle stacks, and return the number of busy stacks of the busiest thread.

        questions: control words of the open questions by rows, at most as many as stacks.
        """
        searched = set(self._row_of.tolist())
        rows = deque(row for row in questions if row not in searched)
        busy = np.bincount(self._thread_of, self._row_of >= 0)
        for stack in self._order[self._row_of[self._order] < 0].tolist():
            # Rows that no stack searches come first. A thread without work helps with the row that the fewest stacks
            # search; a second stack of a thread would only slow the first one down.
            if rows:
                row = rows.popleft()
            elif not busy[self._thread_of[stack]]:
                row = min(questions, key=lambda row: np.count_nonzero(self._row_of == row))
            else:
                continue
            self._row_of[stack] = row
            self.control[stack] = questions[row]
            busy[self._thread_of[stack]] += 1
        return int(busy.max())

    def answers(self) -> dict[int, Array]:
        """Return the control words of answered questions by rows, from the first stack that has the answer."""
        answers = dict[int, Array]()
        is_done = (self._row_of >= 0) & (self.control[:, Control.status.index] != RUNNING)
        for stack in np.flatnonzero(is_done).tolist():
            answers.setdefault(int(self._row_of[stack]), self.control[stack])
        return answers

    def release(self, row: int) -> None:
        """Make all stacks of a row idle."""
        stacks = self._row_of == row
        self.control[stacks, Control.status.index] = PROVEN
        self._row_of[stacks] = -1


class Alternatives(NamedTuple):
    """Positions after the actions of several games, where one suitable action of each game is enough.

    Attributes:
        game: number of each position's game, int [n].
        reaches: whether a position is suitable if its score reaches the threshold, else if it does not, bool [n].
    """

    game: Array
    reaches: Array


class Dropped:
    """Positions that need no search, since another action of their game is suitable.

    Attributes:
        rows: whether each position is dropped, bool [n].
    """

    def __init__(self, game: Array, reaches: Array, thresholds: Array, rows: Array):
        """Store the columns of `Alternatives`, the thresholds, and the positions that are dropped from the start."""
        self.game = game
        self.reaches = reaches
        self.thresholds = thresholds
        self.rows = rows
        self.answered = np.zeros(len(rows), bool)

    def add_answer(self, row: int, score: int) -> list[int]:
        """Drop the other positions of a game if this one is suitable, and return them."""
        self.answered[row] = True
        if (score >= self.thresholds[row]) != self.reaches[row]:
            return []
        unnecessary = (self.game == self.game[row]) & ~self.answered & ~self.rows
        self.rows |= unnecessary
        return np.flatnonzero(unnecessary).tolist()  # type: ignore[no-any-return]


def one_question(threshold: int) -> Questions:
    """Yield one threshold for the player to move; return a bound of the score that answers it."""
    _, bound = yield int(threshold)
    return bound


def opening_table(env: Env) -> Path | None:
    """Return the file of bounds in a game's folder if there is one for the environment's rule fields, else None."""
    source = getattr(sys.modules[type(env.rules).__module__], "__file__", None)  # an interactive session has no file
    if not source:
        return None
    path = Path(source).with_name("openings.safetensors")
    if not path.exists() or not has_words_of(read_arrays(path, FORMAT)[0]["env"], env):
        return None
    return path


def score_questions(exact: bool) -> Questions:
    """Yield thresholds until the score for the player to move is known, or only its sign unless `exact`; return it."""
    low = -WIN_SCORE
    high = WIN_SCORE
    while low < high and (exact or low <= 0 <= high):
        # First ask for the sign. Then ask for a faster win, or a later loss, until the bounds meet.
        threshold = high if high < 0 else int(high > 0)
        if low > 0:
            threshold = low + 1
        reached, bound = yield threshold
        if reached:
            low = max(low, bound)
        else:
            high = min(high, bound)
    return low if low > 0 or low == high else high

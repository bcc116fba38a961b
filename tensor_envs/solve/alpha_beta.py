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
from tensor_envs.solve.branches import counter
from tensor_envs.solve.canonical import BitMaps
from tensor_envs.solve.field_maps import FieldMaps
from tensor_envs.solve.outcomes import facts
from tensor_envs.solve.packed import Array
from tensor_envs.solve.proof import BEGIN, FAR, NO_MOVE, OTHER_RESULTS, PAID_EARLY, PROVEN, RUNNING, TOO_DEEP, Prove
from tensor_envs.solve.stack import MAX_PLIES, REPEATS, Control, Packing, Sizes
from tensor_envs.solve.transpositions import BUCKET, entry_words
from tensor_envs.solve.values import ExactValues

FORMAT = "tensor_envs search 1"
HEAD_BYTES = 2048  # bytes of a file without rows
MAX_MEMORY = 2**34  # bytes that the indices of a table reach
MAX_LINE = 1000  # plies of the longest line
STACK = 2**25  # upper bound for the words of a stack, and of all stacks where a thread has several
STACKS = 64  # on a CPU with fewer threads, so that many positions share the cost of a launch
GPU_BLOCKS = 16  # blocks of 64 threads
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
        node = self._sizes.frame + 2 * self._sizes.position * self._sizes.width
        # Every thread keeps a whole path in memory: games with many actions get shorter paths.
        depth = min(MAX_LINE, STACK // node)
        if is_gpu(device):
            stacks = GPU_BLOCKS * LANES
            grid = BlockGrid(GPU_BLOCKS, LANES, True)
        else:
            # A thread of a CPU runs several stacks in turn, as many as memory allows.
            stacks = max(num_threads(), min(STACKS, STACK // (depth * node)))
            grid = BlockGrid(stacks, 1, False)
        self._layout = BatchLayout(stacks, device, 1, grid)
        # A region of a set-colouring game names cells of one orientation, so that such games are searched without
        # symmetries.
        self._maps = BitMaps()
        if not self._sizes.cells:
            layout = self._packing.layout
            self._maps = FieldMaps(spec, layout, self.env.symmetries()).bit_maps(self._packing.kept)
        self._kernel = Prove(by_ply, depth, self._maps)
        bucket = BUCKET * entry_words(self._sizes.position, self._sizes.region)
        # A bucket is some words of 4 bytes.
        self._buckets = memory // (4 * bucket)
        if not self._buckets:
            raise ValueError(f"memory must be at least {4 * bucket} bytes, got {memory}")
        self._nodes = LAUNCHES[0]
        self._questions = 0
        self._arrays = self._allocated(depth)
        # A game may bring bounds of its first plies.
        if (path := opening_table(self.env)) is not None:
            self._fill(path)
        if isinstance(start, State):
            self._scores(start)

    def __repr__(self) -> str:
        return f"<SearchSolution of {self.env!r}: {self.nodes} positions searched>"

    def _allocated(self, depth: int) -> Prove.Arrays:
        """Return buffers: an empty table and history, and the other arrays uninitialised."""
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
        write(arrays["history"], np.tile(np.concatenate([np.tile(middle, 2 * REPEATS), 0 * actions]), stacks))
        return Prove.Arrays(limits=self._limits(), **arrays)

    def _limits(self) -> Tensor:
        limits = np.array([self._nodes, self._buckets], np.int64).astype(np.uint32).view(np.int32)
        return upload(limits, self._layout.device)

    # *** files ***

    def save(self, path: str | Path, max_bytes: int = 2_000_000) -> None:
        """Save the bounds of the positions that took the most work to a file; an existing file is replaced.

        A search that starts with them, by `load`, repeats none of that work.

        Args:
            path: the file.
            max_bytes: upper bound for its size.

        Raises:
            TypeError, ValueError: no path, or a size of less than 2,048.
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
            TypeError, ValueError: the file is damaged or of another kind; another memory, as in `te.solve`.
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
        """Replace the content of the table by the bounds of a file, which fill at most an eighth of it."""
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
        return self.keeping(state, self.value(state))

    def some_best_actions(self, state: State) -> Array:
        """Return at least one legal action of each game that keeps its value, bool [B, A].

        It ends once one is proven for each game, so it takes less time than `best_actions`.
        """
        return self.keeping(state, self.value(state), every=False)

    def fastest_actions(self, state: State) -> Array:
        """Return the best actions that win fastest or resist longest, bool [B, A]."""
        return self.keeping(state, self._scores(state) * self._turn(state))

    def keeping(self, state: State, scores: Array, every: bool = True) -> Array:
        """Return the legal actions that keep a score for the player to move, or a value, int32 [B]; bool [B, A].

        Unless `every`, the search of a game's actions ends with the first one that does.
        """
        # one ply later
        legal = state.numpy()["legal_action_mask"]
        # A position one ply later that keeps the score has a score one step farther from 0.
        wanted = scores + np.sign(scores)
        best = legal & (scores == -1)[:, None]  # whoever loses anyway may play anything
        rows, actions = np.nonzero(legal & (scores != -1)[:, None])
        if len(rows):
            after = self.env.step(state[rows.astype(np.int32)], actions)
            turn = self._turn(state)[rows]
            # To reach a score is to deny the opponent the next better one.
            thresholds = np.where(self._turn(after) == turn, wanted[rows], 1 - wanted[rows])
            same = self._turn(after) == turn
            # One action is enough for each game, unless all are wanted.
            games = None if every else Alternatives(rows, same)
            best[rows, actions] = self._scores(after, thresholds=thresholds, games=games) * turn >= wanted[rows]
        return best

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

    def _scores(
        self, state: State, exact: bool = True, thresholds: Array | None = None, games: Alternatives | None = None
    ) -> Array:
        """Return scores for player 0, as bounds if `thresholds` are all that is asked of the players to move.

        With `games`, what is not searched since an alternative was enough has a bound that is not wanted.
        """
        instance("state", state, State)
        self.env.check_state(state)
        values = state.numpy()
        turn = np.where(values["current_player"] == 0, 1, -1)
        scores = (values["rewards"][:, 0] * FAR).astype(np.int32)  # scores of finished games
        live = np.flatnonzero(~(values["terminated"] | values["truncated"]))
        if len(live):
            asked = [questions(exact) if thresholds is None else question(int(thresholds[row])) for row in live]
            dropped = None
            if games is not None and thresholds is not None:
                unwanted = thresholds - games.reaches
                # an alternative whose game is over needs no search
                over = np.setdiff1d(np.arange(state.batch), live)
                enough = over[(scores[over] * turn[over] >= thresholds[over]) == games.reaches[over]]
                settled = np.isin(games.game[live], games.game[enough])
                dropped = Dropped(games.game[live], games.reaches[live], thresholds[live], settled)
            found = self._searched(self._words(values, live), asked, dropped)
            if dropped is not None:
                found = np.where(dropped.rows, unwanted[live], found)
            scores[live] = found * turn[live]
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

    def _searched(self, words: Array, queries: list[Questions], dropped: Dropped | None = None) -> Array:
        """Return the results of questions about unfinished positions, for the player to move, int32 [rows].

        dropped: rows that need no search, and how answers add to them; the rows' results are 0.
        """
        scores = np.zeros(len(words), np.int32)
        stacks = _Stacks(self._layout, Control.size + self._sizes.position)
        waiting = deque(row for row in range(len(words)) if dropped is None or not dropped.rows[row])
        asked: dict[int, Questions] = {}  # by the rows that are searched
        control_of: dict[int, Array] = {}  # control words of the open question of each of these rows
        bar = counter("search", None, self.progress)
        reports = Reports()
        before = self.nodes
        self._resize(LAUNCHES[0], 1)
        while waiting or asked:
            # Open as many questions as there are stacks.
            while waiting and len(asked) < self._layout.batch:
                row = waiting.popleft()
                asked[row] = queries[row]
                control_of[row] = self._question(words[row], next(asked[row]))
            busy = stacks.assign(control_of)
            nodes = self._launch(stacks)
            bar.update(nodes)
            if not self.progress and (seconds := reports.due()) is not None:
                done = f"{self.nodes - before:,} positions in {seconds:.0f} s"
                left = f"{len(waiting) + len(asked)} of {len(words)} questions are open"
                print(f"searching {self.env!r}: {done}, {left} ...", file=sys.stderr, flush=True)
            answers = stacks.answers()
            for row, answer in answers.items():
                if row not in asked:  # an alternative was enough
                    continue
                status, reached, bound = (int(answer[e.index]) for e in ANSWER)
                stacks.release(row)
                self._check(status)
                try:
                    # The generator yields its next threshold, or returns the score.
                    control_of[row] = self._question(words[row], asked[row].send((bool(reached), bound)))
                except StopIteration as result:
                    scores[row] = result.value
                    # An answer may settle the other actions of a game.
                    settled = [] if dropped is None else dropped.after(row, result.value)
                    for other in (row, *settled):
                        asked.pop(other, None)
                        control_of.pop(other, None)
                        stacks.release(other)
                    if dropped is not None:
                        waiting = deque(other for other in waiting if not dropped.rows[other])
            # Short launches answer quickly while questions end; long ones waste less on launching.
            self._resize(self._nodes // 2 if answers else self._nodes * 2, busy)
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

    def _resize(self, nodes: int, busy: int) -> None:
        """Set the nodes of a stack in a launch, few while questions are answered, since the other stacks wait for it.

        A launch is in `LAUNCHES`, also for a thread that runs several busy stacks, so that Ctrl-C soon ends it.
        """
        nodes = min(max(nodes, LAUNCHES[0]), max(LAUNCHES[1] // busy, LAUNCHES[0]))
        if nodes != self._nodes:
            self._nodes = nodes
            self._arrays = self._arrays._replace(limits=self._limits())

    def _question(self, words: Array, threshold: int) -> Array:
        """Return a stack's control words for a new question."""
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
        # The pool hands slices of stacks to any free thread, so the thread of a stack is known roughly.
        threads = count if is_gpu(layout.device) else min(num_threads(), count)
        self._thread_of = np.arange(count) * threads // count
        place = np.arange(count) - np.searchsorted(self._thread_of, self._thread_of)  # among the stacks of its thread
        # Fill one stack of each thread before the second one of any.
        self._order = np.argsort(place, kind="stable")

    def assign(self, questions: Mapping[int, Array]) -> int:
        """Give questions to idle stacks, and return the number of busy stacks of the busiest thread.

        questions: control words of the open questions by rows, as many as stacks at most.
        """
        searched = set(self._row_of.tolist())
        rows = deque(row for row in questions if row not in searched)
        busy = np.bincount(self._thread_of, self._row_of >= 0)
        for stack in self._order[self._row_of[self._order] < 0].tolist():
            # A row that nobody searches yet comes first. A thread without work helps with the row that the fewest
            # stacks search; a second stack of a thread would only slow the first one down.
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
        """Return the control words of answered questions by rows, of the first stack that answers each."""
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
    """Actions of several games. A search may stop at the first suitable action of each game.

    Attributes:
        game: number of the game of each action, int [n].
        reaches: whether the position after a suitable action reaches its threshold; False: it does not, bool [n].
    """

    game: Array
    reaches: Array


class Dropped:
    """Positions that need no search, since another action of their game was suitable.

    Attributes:
        rows: whether each position is dropped, bool [n].
    """

    def __init__(self, game: Array, reaches: Array, thresholds: Array, rows: Array):
        """Store the alternatives of the positions, their thresholds, and the positions dropped from the start."""
        self.game = game
        self.reaches = reaches
        self.thresholds = thresholds
        self.rows = rows
        self.answered = np.zeros(len(rows), bool)

    def after(self, row: int, score: int) -> list[int]:
        """Return the positions that an answer makes unnecessary."""
        self.answered[row] = True
        if (score >= self.thresholds[row]) != self.reaches[row]:
            return []
        unnecessary = (self.game == self.game[row]) & ~self.answered & ~self.rows
        self.rows |= unnecessary
        return np.flatnonzero(unnecessary).tolist()  # type: ignore[no-any-return]


def question(threshold: int) -> Questions:
    """Yield one threshold for the player to move; return a bound of the score that answers it."""
    _, bound = yield threshold
    return bound


def opening_table(env: Env) -> Path | None:
    """Return the file of bounds that comes with a game, if the environment has the rule fields that it is for."""
    source = getattr(sys.modules[type(env.rules).__module__], "__file__", None)  # an interactive session has no file
    if not source:
        return None
    path = Path(source).with_name("openings.safetensors")
    if not path.exists() or not has_words_of(read_arrays(path, FORMAT)[0]["env"], env):
        return None
    return path


def questions(exact: bool) -> Questions:
    """Yield thresholds until the score for the player to move is known, or only its sign if not `exact`; return it."""
    low = -FAR
    high = FAR
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

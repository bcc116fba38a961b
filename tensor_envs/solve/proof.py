"""Kernel of alpha-beta search: decides whether a position's score reaches a threshold, with a transposition table.

A score is WIN_SCORE - n for a win of the player to move in n plies, its negative for a loss, 0 for a draw.
The search is depth-first with a null window. Every thread has its own stack and history, and all share a table: threads
with the same question search the same tree, and each leaves to the others the children that they are searching. These
threads are rows of the batch; on the CPU one thread of the processor runs several of them in turn.

A thread repeats three tasks. `Prover.enter` plays all actions of a node at once, in whole vectors, so that immediate
wins and every child's position are known before the search descends. `Prover.select` chooses the next child.
`Prover.leave` reports a node's bound to the node above. Bounds are proven, never estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import INT32, UINT32
from tensor_envs._engine.game import Game
from tensor_envs._engine.kernels.base import Tracer
from tensor_envs.rules.kernel import Cells, branch, do_while, loop, registers
from tensor_envs.rules.lists import has_bit, popcount
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, maximum, minimum, scalar, uint32, where
from tensor_envs.rules.spec import GameState
from tensor_envs.solve import claims
from tensor_envs.solve.canonical import BitMaps
from tensor_envs.solve.must_play import MustPlay, Region
from tensor_envs.solve.stack import (
    CHILDREN_AT_ONCE,
    REPEATS,
    Child,
    Control,
    Frame,
    Limits,
    Packing,
    Sizes,
    one_ply_earlier,
    threshold_one_ply_later,
)
from tensor_envs.solve.transpositions import TableResult, TranspositionTable

WIN_SCORE = 32_000  # score of a finished win; a win in n plies is WIN_SCORE - n, a loss its negative, a draw 0
# Symmetries are applied down to this depth alone: deeper nodes are many, and seldom equal by symmetry.
MAX_SYMMETRY_DEPTH = 10
# statuses of a search: the last four are faults of a game that cannot be searched
RUNNING, PROVEN, TOO_DEEP, NO_MOVE, OTHER_RESULTS, PAID_EARLY = range(6)
BEGIN, ENTER, LEAVE, SELECT = range(4)  # next task of a thread
MAX_PRIORITY = 2**20  # bound of a move's history, and of its promise times `PROMISE_UNIT`
# Children of equal promise are ordered by the history of moves, which is clipped to less than half of this.
PROMISE_UNIT = 2**10


@dataclass(frozen=True)
class Prove:
    """Kernel that continues the search of every thread until its question is answered or the launch's nodes are spent.

    Attributes:
        by_ply: whether the rules depend on the ply.
        depth: maximum depth of a node.
        symmetries: permutations of a position's bits that change no value.
    """

    by_ply: bool
    depth: int
    symmetries: BitMaps
    name = "prove"

    class Arrays(NamedTuple):
        control: Any  # int32 [threads, Control.size + words of a position]
        limits: Any  # int32 [Limits.size]
        frames: Any  # int32 [threads, depth, words of a frame]
        states: Any  # uint32 [threads, depth, 2 * words of a position, width]: positions, and their keys in the table
        history: Any  # int32 [threads, 2 * REPEATS * actions], then [actions] for the path's actions
        claims: Any  # uint32 [claims.ENTRIES]: children that are being searched, shared by all threads
        table: Any  # uint32 [buckets, BUCKET, words of an entry], shared by all threads

    def trace(self, t: Tracer, a: Arrays) -> None:
        t.block.each(lambda lane: Prover(t.game, self, a, int32(lane.batch.row)).run(), unroll_max=0)


class Prover:
    """Search of one thread in a kernel."""

    def __init__(self, game: Game, kernel: Prove, arrays: Prove.Arrays, thread: Scalar):
        self.game = game
        self.kernel = kernel
        self.thread = thread
        self.packing = Packing(game.spec, kernel.by_ply)
        self.sizes = Sizes.of(game, kernel.by_ply)
        self.actions = game.spec.num_actions
        self.control = Control(arrays.control, thread * (Control.size + self.sizes.position))
        self.limits = Limits(arrays.limits)
        self.arrays = arrays
        self.must = MustPlay(self.sizes.cells, Frame.size + Child.size * self.sizes.width)
        self.table = TranspositionTable(arrays.table, self.limits.buckets, self.sizes.position, self.must.words)
        self.claims = claims.Claims(arrays.claims, self.control.question)
        self.mode = registers(1, INT32)
        self.depth = registers(1, INT32)
        self.nodes = registers(1, INT32)  # nodes entered in this launch
        self.status = registers(1, INT32)
        self.result = registers(1, INT32)  # bound of the node that was decided last
        self.reached = registers(1, INT32)  # whether it reached its threshold

    def run(self) -> None:
        """Load the thread's state, search, and store the state for the next launch."""
        control = self.control
        self.status[0] = control.status
        self.mode[0] = control.mode
        self.depth[0] = control.depth
        self.nodes[0] = 0
        self.result[0] = 0
        self.reached[0] = 0
        max_nodes = self.limits.nodes
        with branch(self.status[0] == RUNNING):
            with branch(self.mode[0] == BEGIN):
                self.begin()
            # A launch continues where the last one stopped. Other threads may have decided a node of the path
            # meanwhile.
            with branch(self.depth[0] > 1):
                self.resume()
            with do_while() as iteration:
                # An iteration is one step of the search. Modes follow each other within it where they can: a node
                # that is entered may be left, and the node above then selects its next child.
                with branch(self.mode[0] == ENTER):
                    self.enter()
                with branch(self.mode[0] == LEAVE):
                    self.leave()
                with branch(self.mode[0] == SELECT):
                    self.select()
                # Stop only before a node is entered, so that the next launch finds a whole path.
                iteration.again = (self.status[0] == RUNNING) & ((self.nodes[0] < max_nodes) | (self.mode[0] != ENTER))
            control.status = self.status[0]
            control.mode = self.mode[0]
            control.depth = self.depth[0]
            control.bound = self.result[0]
            control.reached = self.reached[0]
        control.nodes = self.nodes[0]

    # *** memory ***

    def frame(self, depth: Scalar) -> Frame:
        return Frame(self.arrays.frames, (self.thread * self.kernel.depth + depth) * self.sizes.frame)

    def child(self, frame: Frame, i: Scalar) -> Child:
        return Child(frame.cells, frame.first + Frame.size + i, self.sizes.width)

    def word_index(self, depth: Scalar, w: int, i: Scalar) -> Scalar:
        """Return the index of a word of a child of the node at some depth."""
        sizes = self.sizes
        return ((self.thread * self.kernel.depth + depth) * 2 * sizes.position + w) * sizes.width + i

    def words(self, depth: Scalar, i: Scalar, key: bool = False) -> list[Scalar]:
        """Return the words of a child of the node at some depth, or those of its key in the table."""
        first = self.sizes.position if key else 0
        return [self.arrays.states[self.word_index(depth, first + w, i)] for w in range(self.sizes.position)]

    def put(self, depth: Scalar, i: Scalar, words: list[Scalar]) -> None:
        """Store the words of a child, which are also its key."""
        for w, x in enumerate(words):
            # The second copy is replaced by the least image under symmetry in `prioritise`.
            for copy in range(2):
                self.arrays.states[self.word_index(depth, copy * len(words) + w, i)] = x

    def position(self, depth: Scalar, key: bool = False) -> list[Scalar]:
        """Return the words of the node at some depth, which is a child of the one before, or those of its key."""
        return self.words(depth - 1, self.clamp(self.frame(depth - 1).chosen), key)

    @contextmanager
    def vectors(self, children: Scalar) -> Iterator[Scalar]:
        """Record a loop over the children of a node and its padding, in whole vectors."""
        with loop((children + (CHILDREN_AT_ONCE - 1)) // CHILDREN_AT_ONCE) as group, loop(CHILDREN_AT_ONCE) as lane:
            yield group * CHILDREN_AT_ONCE + lane

    def clamp(self, child: Scalar) -> Scalar:
        """Return the number of a child, clamped so that the compiler knows its bounds."""
        return maximum(minimum(child, self.sizes.width - 1), 0)

    def action_of(self, child: Child) -> Scalar:
        """Return the action of a child, clamped so that the compiler knows its bounds."""
        return maximum(minimum(child.action, self.actions - 1), 0)

    # *** a new node ***

    def begin(self) -> None:
        """Put the root on the stack, as the child of a frame above it."""
        with loop(self.actions) as action:
            self.arrays.history[self.path_index(action)] = 0
        # The root has no parent: frame 0 stands in, with the root as its only child.
        above = self.frame(int32(0))
        words = self.control.words(self.sizes.position)
        above.chosen = 0
        self.put(int32(0), int32(0), words)
        self.child(above, int32(0)).bucket = self.table.bucket(words)
        self.frame(int32(1)).threshold = self.control.threshold
        with loop(self.kernel.depth) as depth:
            self.frame(depth).killer = self.actions
        self.depth[0] = 1
        self.mode[0] = ENTER

    def enter(self) -> None:
        """Play all actions of a node, look it and its children up, and leave it if that decides it."""
        depth = self.depth[0]
        frame = self.frame(self.depth[0])
        self.nodes[0] = self.nodes[0] + 1
        words = self.position(depth)
        s = self.packing.load(words.__getitem__)
        threshold = frame.threshold
        above = self.frame(depth - 1)
        # The parent has computed the bucket when it looked all its children up.
        bucket = self.child(above, self.clamp(above.chosen)).bucket
        key = self.position(depth, key=True)
        entry = self.table.look_up(bucket, key)
        count = registers(1, INT32)
        # All children are played before any is searched: an immediate win ends the node, and their positions order
        # the moves.
        self.list_actions(s, frame, count)
        best = registers(1, INT32)  # highest lower bound of a child
        fault = registers(1, INT32)
        best[0] = -WIN_SCORE
        fault[0] = 0
        self.play_all(s, depth, frame, count[0], best, fault)
        children = count[0]
        # Without an immediate win the node wins in three plies at the earliest.
        low = maximum(where(entry.hit, entry.low, -WIN_SCORE), best[0])
        high = where(best[0] == WIN_SCORE - 1, WIN_SCORE - 1, where(entry.hit, entry.high, WIN_SCORE - 2))
        # Keep what the node needs when control comes back from its children.
        frame.player = s.current_player
        frame.children = children
        frame.visited = 0
        frame.work = 0
        frame.low = low
        frame.high = high
        frame.bucket = bucket
        self.status[0] = where(
            fault[0] != 0,
            fault[0],
            where(children == 0, NO_MOVE, where(depth >= self.kernel.depth - 1, TOO_DEEP, RUNNING)),
        )
        wins = low >= threshold
        # A null window asks one question: is the score at least the threshold? Either bound may answer it.
        fails = high < threshold
        self.reached[0] = int32(wins)
        self.result[0] = where(wins, low, high)
        self.mode[0] = where(wins | fails, LEAVE, SELECT)
        if self.must.cells:
            # The region of a proof is the cells that its winner needs; see must_play.py.
            self.must.reset(frame)
            self.must.set_result(self.must.region_if(where(wins, low > 0, high < 0), entry.region))
            with branch(best[0] == WIN_SCORE - 1):
                self.must.set_result(
                    self.must.winning_region(self.winning_action(frame), [uint32(0)] * self.must.words)
                )
        with branch(~(wins | fails)):
            # An entry under another image names an action of that image, which says nothing about this position.
            is_unchanged = reduce(and_, (x == y for x, y in zip(key, words, strict=True)))
            table_action = where(entry.hit & is_unchanged, entry.action, self.actions)
            best[0] = -WIN_SCORE
            self.prioritise(depth, frame, children, s.current_player, table_action, best)
            # A bound of a child from the table may decide the node.
            with branch(best[0] >= threshold):
                self.reached[0] = 1
                self.result[0] = best[0]
                self.mode[0] = LEAVE

    def mask(self, s: GameState) -> list[Scalar]:
        """Return the words of the legal action mask; games with memory fields are not searched."""
        mask = self.game.mask(s)
        assert isinstance(mask, list)
        return mask

    def list_actions(self, s: GameState, frame: Frame, count: Cells) -> None:
        """Store the legal actions of a node in its children, padded to whole vectors by repeating the last one.

        count: register for the number of legal actions.
        """
        bits = registers(1, UINT32)
        mask = self.mask(s)
        count[0] = 0
        for w, members in enumerate(mask):
            bits[0] = members
            # Extract the set bits of the word one by one, the lowest one first.
            with loop(popcount(members)):
                lowest = bits[0]
                action = popcount((lowest & (uint32(0) - lowest)) - 1) + WORD_BITS * w
                self.child(frame, self.clamp(count[0])).action = action
                count[0] = count[0] + 1
                bits[0] = lowest & (lowest - 1)
        last = self.child(frame, self.clamp(count[0] - 1)).action
        # Whole vectors need no remainder loop, which LLVM 21 miscompiles. Repeated actions change no maximum.
        missing = where(count[0] > 0, (-count[0]) & (CHILDREN_AT_ONCE - 1), 0)
        with loop(missing) as k:
            self.child(frame, self.clamp(count[0] + k)).action = last

    def play_all(self, s: GameState, depth: Scalar, frame: Frame, count: Scalar, best: Cells, fault: Cells) -> None:
        """Play every action of a node, and store each child's position and bounds.

        best: register for the highest lower bound of a child.
        fault: register for the status of a game that cannot be searched, else 0.
        """
        mover = s.current_player
        with self.vectors(count) as i:
            child = self.child(frame, i)
            action = self.action_of(child)
            after, rewards, terminated, truncated = self.game.step(s, action, None)
            over = terminated | truncated
            reward = where(mover == 0, rewards[0], rewards[1])
            # If the game ends with this action, its result is one ply away.
            result = where(reward > 0.0, WIN_SCORE - 1, where(reward < 0.0, 1 - WIN_SCORE, 0))
            # An unfinished child is decided in two plies at the earliest.
            child.low = low = where(over, result, 2 - WIN_SCORE)
            child.high = where(over, result, WIN_SCORE - 2)
            best[0] = maximum(best[0], low)
            # Games with other results, or with rewards before the end, have no scores of this kind.
            is_result = (reward == 0.0) | (reward == 1.0) | (reward == -1.0)
            status = where(over, where(is_result, 0, OTHER_RESULTS), where(reward == 0.0, 0, PAID_EARLY))
            fault[0] = maximum(fault[0], status)
            self.put(depth, i, self.packing.pack(after))

    def prioritise(
        self, depth: Scalar, frame: Frame, children: Scalar, player: Scalar, table_action: Scalar, best: Cells
    ) -> None:
        """Look the children of a node up, and order them.

        The table's best action comes first, then children by the rules' promise, then by the history of moves.

        table_action: best action of the table, or the number of actions if there is none.
        best: register for the highest lower bound of a child.
        """
        history = self.arrays.history
        states = self.arrays.states
        if self.kernel.symmetries.maps:
            # The key of a child is its least image, so that equal positions share an entry.
            with branch(depth <= MAX_SYMMETRY_DEPTH), self.vectors(children) as i:
                for w, x in enumerate(self.kernel.symmetries.canonical(self.words(depth, i))):
                    states[self.word_index(depth, self.sizes.position + w, i)] = x
        with self.vectors(children) as i:
            child = self.child(frame, i)
            child.bucket = self.table.bucket(self.words(depth, i, key=True))
            s = self.packing.load(self.words(depth, i).__getitem__)
            # The rules' promise is for the player to move after the action.
            if (promise := self.game.promise(s)) is not None:
                child.priority = where(s.current_player == player, -promise, promise) * PROMISE_UNIT
        # Memory accesses take the most time, so they are made together, in vectors.
        with self.vectors(children) as i:
            child = self.child(frame, i)
            first = states[self.word_index(depth, self.sizes.position, i)]
            # Only the first word is compared here: most children are in no entry, and need no further access.
            child.may_be_stored = int32(self.table.may_hold(child.bucket, first))
        with loop(children) as i:
            child = self.child(frame, i)
            action = self.action_of(child)
            # Moves are remembered separately by how often the action stands on the path already: in games with
            # repeated actions, such as sowing, the first and the second time differ.
            repeats = minimum(self.path_count(action), REPEATS - 1)
            index = self.sizes.history * self.thread + (player * REPEATS + repeats) * self.actions + action
            child.history = index
            # A finished child has equal bounds and is not looked up.
            with branch((child.may_be_stored != 0) & (child.low < child.high)):
                entry = self.table.look_up(child.bucket, self.words(depth, i, key=True))
                with branch(entry.hit):
                    low = entry.low
                    high = entry.high
                    # The score changes its sign with the player to move, and a bound from below becomes one from
                    # above.
                    same = self.player_of_child(depth, i) == player
                    child.low = maximum(child.low, where(same, one_ply_earlier(low), -one_ply_earlier(high)))
                    child.high = minimum(child.high, where(same, one_ply_earlier(high), -one_ply_earlier(low)))
                    if self.must.cells:
                        self.note_region(frame, child, action, entry.region, best[0])
                    best[0] = maximum(best[0], child.low)
            # A killer is the move that decided the last sibling at this depth. It is likely to decide this one as
            # well.
            priority = where(action == frame.killer, MAX_PRIORITY, history[index])
            if hasattr(self.game.rules, "promise"):
                priority = child.priority + maximum(minimum(priority, PROMISE_UNIT // 2 - 1), -PROMISE_UNIT // 2)
            # The move that decided this position in an earlier search comes first.
            child.priority = where(action == table_action, 2 * MAX_PRIORITY, priority)

    def note_region(self, frame: Frame, child: Child, action: Scalar, region: Region, best: Scalar) -> None:
        """Store the region of an action that is refuted, or that wins and is better than the best one so far."""
        low = child.low
        high = child.high
        with branch(high < frame.threshold):
            self.must.refute(frame, action, region, high < 0)
        with branch((low >= frame.threshold) & (low > best)):
            self.must.set_result(self.must.region_if(low > 0, self.must.winning_region(action, region)))

    def winning_action(self, frame: Frame) -> Scalar:
        """Return an action that wins at once, or 0 if there is none."""
        action = registers(1, INT32)
        action[0] = 0
        with loop(frame.children) as i:
            child = self.child(frame, i)
            action[0] = where(child.low == WIN_SCORE - 1, child.action, action[0])
        return maximum(minimum(action[0], self.actions - 1), 0)

    def path_index(self, action: Scalar) -> Scalar:
        """Return the index in the history of the number of times that an action is on the path."""
        return self.sizes.history * self.thread + 2 * REPEATS * self.actions + action

    def path_count(self, action: Scalar) -> Scalar:
        """Return how many times an action is on the path."""
        return self.arrays.history[self.path_index(action)]

    # *** the next child ***

    def select(self) -> None:
        """Choose the open child of the highest priority, or leave a node without one."""
        depth = self.depth[0]
        frame = self.frame(self.depth[0])
        threshold = frame.threshold
        children = frame.children
        # Threads with the same question avoid each other: a child that another thread is searching comes later.
        with branch((depth <= claims.MAX_CLAIMED_DEPTH) & (frame.visited > 0)), loop(children) as i:
            self.claims.defer(self.child(frame, i))
        best_priority = registers(1, INT32)
        chosen = registers(1, INT32)
        highest = registers(1, INT32)  # highest upper bound of a child
        best_priority[0] = -(2**30)
        chosen[0] = -1
        highest[0] = -WIN_SCORE
        with loop(children) as i:
            child = self.child(frame, i)
            high = child.high
            priority = child.priority
            # An action outside a region in which the opponent refuted another one cannot change the result.
            skipped = (high >= threshold) & ~self.must.allows(frame, child.action) if self.must.cells else scalar(False)
            better = (high >= threshold) & (priority > best_priority[0]) & ~skipped
            best_priority[0] = where(better, priority, best_priority[0])
            chosen[0] = where(better, i, chosen[0])
            # Without an open child, the node's bound from above is the highest one of its children.
            highest[0] = maximum(highest[0], where(skipped, -WIN_SCORE, high))
        any_left = chosen[0] >= 0
        with branch(any_left):
            child = self.child(frame, chosen[0])
            below = self.frame(depth + 1)
            frame.chosen = chosen[0]
            frame.visited = frame.visited + 1
            action = self.action_of(child)
            self.arrays.history[self.path_index(action)] = self.path_count(action) + 1
            with branch(depth <= claims.MAX_CLAIMED_DEPTH):
                self.claims.add(child)
            same = self.player_of_child(depth, chosen[0]) == frame.player
            # The child's question is the same one, from the view of its player to move and one ply later.
            below.threshold = threshold_one_ply_later(where(same, threshold, 1 - threshold))
            self.depth[0] = depth + 1
            self.mode[0] = ENTER
        with branch(~any_left):
            self.result[0] = minimum(highest[0], frame.high)
            self.must.set_result(self.must.region_if(self.result[0] < 0, self.must.losing_region(frame)))
            self.reached[0] = 0
            self.mode[0] = LEAVE

    def leave_path(self, depth: Scalar) -> None:
        """Remove the chosen child of the node at some depth from the path."""
        frame = self.frame(depth)
        child = self.child(frame, self.clamp(frame.chosen))
        action = self.action_of(child)
        self.arrays.history[self.path_index(action)] = self.path_count(action) - 1
        with branch(depth <= claims.MAX_CLAIMED_DEPTH):
            self.claims.remove(child)

    def resume(self) -> None:
        """Return to the highest node of the path that the table decides now; another thread may have stored it."""
        level = registers(1, INT32)
        depth = self.depth[0]
        level[0] = 0
        with do_while() as iteration:
            level[0] = level[0] + 1
            frame = self.frame(level[0])
            entry = self.table.look_up(frame.bucket, self.position(level[0], key=True))
            wins = entry.low >= frame.threshold
            decided = entry.hit & (wins | (entry.high < frame.threshold))
            with branch(decided):
                # Remove the path below that node.
                with loop(depth - level[0]) as k:
                    self.leave_path(level[0] + k)
                self.depth[0] = level[0]
                self.mode[0] = LEAVE
                self.reached[0] = int32(wins)
                self.result[0] = where(wins, entry.low, entry.high)
                self.must.set_result(self.must.region_if(where(wins, entry.low > 0, entry.high < 0), entry.region))
                frame.visited = 0  # it is stored already
            iteration.again = ~decided & (level[0] < depth - 1)

    def player_of_child(self, depth: Scalar, child: Scalar) -> Scalar:
        """Return the player to move of a child of the node at some depth."""
        (slot,) = self.packing.layout.slots["current_player"]
        stored = self.arrays.states[self.word_index(depth, self.packing.kept.index(slot.word), self.clamp(child))]
        return int32(stored >> slot.shift & (1 << slot.width) - 1) + slot.low

    # *** a finished node ***

    def leave(self) -> None:
        """Store a node's bound and report it to the node above."""
        depth = self.depth[0]
        result = self.result[0]
        reached = self.reached[0] != 0
        frame = self.frame(depth)
        above = self.frame(depth - 1)
        with branch(frame.visited > 0):
            self.store(depth, frame, result, reached)
            with branch(reached):
                self.learn(frame)
                # Only a move that reached the threshold decided the node; a node that failed has refuted all its
                # moves.
                frame.killer = self.child(frame, self.clamp(frame.chosen)).action
        with branch(depth == 1):
            self.status[0] = PROVEN
        with branch(depth > 1):
            self.leave_path(depth - 1)
            child = self.child(above, self.clamp(above.chosen))
            # Entries that took the most work are kept longest, and saved in files.
            above.work = above.work + frame.work + 1
            same = frame.player == above.player
            # A lower bound for one player is an upper bound for the other.
            value = where(same, one_ply_earlier(result), -one_ply_earlier(result))
            is_low = reached == same
            low = where(is_low, value, child.low)
            high = where(is_low, child.high, value)
            child.low = low
            child.high = high
            wins = low >= above.threshold
            if self.must.cells:
                self.note_region(above, child, child.action, self.must.result(), int32(-WIN_SCORE))
            else:
                # A child that wins at once refutes its action. The same answer may win against the other actions as
                # well, and then they need no search.
                with branch(~same & ~wins & (result == WIN_SCORE - 1)):
                    self.refute_others(depth, frame, above)
            self.depth[0] = depth - 1
            self.result[0] = maximum(low, above.low)
            self.reached[0] = int32(wins)
            self.mode[0] = where(wins, LEAVE, SELECT)

    def refute_others(self, depth: Scalar, frame: Frame, above: Frame) -> None:
        """Play the winning action of a node after the other actions of the node above, to refute them as well."""
        action = self.winning_action(frame)
        with self.vectors(above.children) as i:
            s = self.packing.load(self.words(depth - 1, i).__getitem__)
            child = self.child(above, i)
            low = child.low
            high = child.high
            legal = has_bit(self.mask(s), action)
            _, rewards, terminated, truncated = self.game.step(s, action, None)
            wins = (terminated | truncated) & (where(s.current_player == 0, rewards[0], rewards[1]) > 0.0)
            # Change only open children of the opponent in which the action is legal and wins.
            lost = (low < high) & (s.current_player != above.player) & legal & wins
            child.low = where(lost, 2 - WIN_SCORE, low)
            child.high = where(lost, 2 - WIN_SCORE, high)

    def learn(self, frame: Frame) -> None:
        """Raise the history of the move that decides a node, and lower that of the moves tried before it."""
        history = self.arrays.history
        failed = registers(1, INT32)
        failed[0] = 0
        with loop(frame.children) as i:
            child = self.child(frame, i)
            high = child.high
            # A child that loses in two plies hardly needs a search, and its move says nothing about the order.
            tried = (high < frame.threshold) & (high > 2 - WIN_SCORE)
            index = child.history
            history[index] = maximum(history[index] - int32(tried), -MAX_PRIORITY)
            failed[0] = failed[0] + int32(tried)
        index = self.child(frame, frame.chosen).history
        history[index] = minimum(history[index] + failed[0], MAX_PRIORITY)

    def store(self, depth: Scalar, frame: Frame, result: Scalar, reached: Scalar) -> None:
        """Store a node's bounds in the table."""
        low = where(reached, result, frame.low)
        high = where(reached, frame.high, result)
        action = self.child(frame, self.clamp(frame.chosen)).action
        region = self.must.region_if(where(reached, result > 0, result < 0), self.must.result())
        entry = TableResult(reached, low, high, action, region)
        self.table.store(frame.bucket, self.position(depth, key=True), entry, frame.work)

"""Kernel of alpha-beta search: decides whether a position's score reaches a threshold, with a transposition table.

A score is FAR - n for a win of the player to move in n plies, its negative for a loss, 0 for a draw.
The search is depth-first with a null window. Every thread has its own stack and history, and all share a table: threads
with the same question search the same tree, and each leaves to the others the children that they are searching. These
threads are rows of the batch; on the CPU one thread of the processor runs several of them in turn. An unfinished node
plays all its actions at once, in whole vectors, so that immediate wins and every child's position are known before the
search descends. Bounds are proven, never estimated.
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
from tensor_envs.rules.lists import popcount
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
    farther,
    has_action,
    nearer,
)
from tensor_envs.solve.transpositions import Found, TranspositionTable

FAR = 32_000  # score of a finished win; a win in n plies is FAR - n, a loss its negative, a draw 0
# Symmetries are applied down to this depth alone: deeper nodes are many, and seldom equal by symmetry.
TURNED = 10
# statuses of a search
RUNNING, PROVEN, TOO_DEEP, NO_MOVE, OTHER_RESULTS, PAID_EARLY = range(6)
BEGIN, ENTER, LEAVE, SELECT = range(4)  # next task of a thread
PRIORITY = 2**20  # bound of a move's history, and of its promise times `TIES`
# Children of equal promise are ordered by the history of moves, which is less than half of this.
TIES = 2**10


@dataclass(frozen=True)
class Prove:
    """Search on until every thread's question is answered or its nodes of a launch are spent.

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
        t.block.each(lambda at: Prover(t.game, self, a, int32(at.batch.row)).run(), unroll_max=0)


class Prover:
    """Stages of a thread's search in a kernel."""

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
        self.mode, self.depth, self.nodes, self.status = (registers(1, INT32) for _ in range(4))
        self.result = registers(1, INT32)
        self.reached = registers(1, INT32)

    def run(self) -> None:
        control = self.control
        self.status[0], self.mode[0], self.depth[0] = control.status, control.mode, control.depth
        self.nodes[0] = self.result[0] = self.reached[0] = 0
        budget = self.limits.nodes
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
                iteration.again = (self.status[0] == RUNNING) & ((self.nodes[0] < budget) | (self.mode[0] != ENTER))
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
        return maximum(minimum(child, self.sizes.width - 1), 0)

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
        """Play all actions of a node and look it up in the table."""
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
        best = registers(1, INT32)
        wrong = registers(1, INT32)
        best[0] = -FAR
        wrong[0] = 0
        self.play_all(s, depth, frame, count[0], best, wrong)
        children = count[0]
        # a child that is not finished has bounds of one ply less, and an immediate win is the best result
        low = maximum(where(entry.hit, entry.low, -FAR), best[0])
        high = where(best[0] == FAR - 1, FAR - 1, where(entry.hit, entry.high, FAR - 2))
        # Keep what the node needs when control comes back from its children.
        frame.player = s.current_player
        frame.children = children
        frame.visited = 0
        frame.work = 0
        frame.low = low
        frame.high = high
        frame.bucket = bucket
        self.status[0] = where(
            wrong[0] != 0,
            wrong[0],
            where(children == 0, NO_MOVE, where(depth >= self.kernel.depth - 1, TOO_DEEP, RUNNING)),
        )
        wins = low >= threshold
        # A null window asks one question: is the score at least the threshold? Either bound may answer it.
        fails = high < threshold
        self.reached[0] = int32(wins)
        self.result[0] = where(wins, low, high)
        self.mode[0] = where(wins | fails, LEAVE, SELECT)
        if self.must.cells:
            # The region of a proof are the cells that its winner needs; see must_play.py.
            self.must.reset(frame)
            self.must.put(self.must.only(where(wins, low > 0, high < 0), entry.region))
            with branch(best[0] == FAR - 1):
                self.must.put(self.must.played(self.winning_action(frame), [uint32(0)] * self.must.words))
        with branch(~(wins | fails)):
            # An entry under another image names an action of that image, which says nothing about this position.
            straight = reduce(and_, (x == y for x, y in zip(key, words, strict=True)))
            move = where(entry.hit & straight, entry.action, self.actions)
            best[0] = -FAR
            self.prioritise(depth, frame, children, s.current_player, move, best)
            # A bound of a child, from the table, is enough.
            with branch(best[0] >= threshold):
                self.reached[0] = 1
                self.result[0] = best[0]
                self.mode[0] = LEAVE

    def mask(self, s: GameState) -> list[Scalar]:
        mask = self.game.mask(s)
        assert isinstance(mask, list)
        return mask

    def list_actions(self, s: GameState, frame: Frame, count: Cells) -> None:
        """List the legal actions of a node, padded to whole vectors by repeating the last."""
        bits = registers(1, UINT32)
        mask = self.mask(s)
        count[0] = 0
        for w, members in enumerate(mask):
            bits[0] = members
            # Take the lowest set bit of the word again and again.
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

    def play_all(self, s: GameState, depth: Scalar, frame: Frame, count: Scalar, best: Cells, wrong: Cells) -> None:
        """Play every action of a node; note the bounds of the results and the position after each."""
        mover = s.current_player
        with self.vectors(count) as i:
            child = self.child(frame, i)
            action = maximum(minimum(child.action, self.actions - 1), 0)
            after, rewards, terminated, truncated = self.game.step(s, action, None)
            over = terminated | truncated
            reward = where(mover == 0, rewards[0], rewards[1])
            # If the game ends with this action, its result is one ply away.
            result = where(reward > 0.0, FAR - 1, where(reward < 0.0, 1 - FAR, 0))
            # An unfinished child is decided in two plies at the earliest.
            child.low = low = where(over, result, 2 - FAR)
            child.high = where(over, result, FAR - 2)
            best[0] = maximum(best[0], low)
            # Games with other results, or with rewards before the end, have no scores of this kind.
            whole = (reward == 0.0) | (reward == 1.0) | (reward == -1.0)
            fault = where(over, where(whole, 0, OTHER_RESULTS), where(reward == 0.0, 0, PAID_EARLY))
            wrong[0] = maximum(wrong[0], fault)
            self.put(depth, i, self.packing.pack(after))

    def prioritise(
        self, depth: Scalar, frame: Frame, children: Scalar, player: Scalar, move: Scalar, best: Cells
    ) -> None:
        """Look the children of a node up, and order them by the table's move, the rules' promise, the history."""
        history = self.arrays.history
        states = self.arrays.states
        if self.kernel.symmetries.maps:
            # The key of a child is its least image, so that equal positions share an entry.
            with branch(depth <= TURNED), self.vectors(children) as i:
                for w, x in enumerate(self.kernel.symmetries.canonical(self.words(depth, i))):
                    states[self.word_index(depth, self.sizes.position + w, i)] = x
        with self.vectors(children) as i:
            child = self.child(frame, i)
            child.bucket = self.table.bucket(self.words(depth, i, key=True))
            s = self.packing.load(self.words(depth, i).__getitem__)
            # The rules' promise is for the player to move after the action.
            if (promise := self.game.promise(s)) is not None:
                child.priority = where(s.current_player == player, -promise, promise) * TIES
        # the accesses to memory, which take the most time, are made together
        with self.vectors(children) as i:
            child = self.child(frame, i)
            first = states[self.word_index(depth, self.sizes.position, i)]
            # Only the first word is compared here: most children are in no entry, and need no further access.
            child.known = int32(self.table.may_hold(child.bucket, first))
        with loop(children) as i:
            child = self.child(frame, i)
            action = maximum(minimum(child.action, self.actions - 1), 0)
            # Moves are remembered separately by how often the action stands on the path already: in games with
            # repeated actions, such as sowing, the first and the second time differ.
            repeats = minimum(self.path_count(action), REPEATS - 1)
            index = self.sizes.history * self.thread + (player * REPEATS + repeats) * self.actions + action
            child.history = index
            # A finished child has equal bounds and is not looked up.
            with branch((child.known != 0) & (child.low < child.high)):
                entry = self.table.look_up(child.bucket, self.words(depth, i, key=True))
                with branch(entry.hit):
                    low = entry.low
                    high = entry.high
                    # The score changes its sign with the player to move, and a bound from below becomes one from
                    # above.
                    same = self.chosen_player(depth, i) == player
                    child.low = maximum(child.low, where(same, farther(low), -farther(high)))
                    child.high = minimum(child.high, where(same, farther(high), -farther(low)))
                    if self.must.cells:
                        self.note(frame, child, action, entry.region, best[0])
                    best[0] = maximum(best[0], child.low)
            # A killer is the move that decided the last sibling at this depth. It is likely to decide this one as
            # well.
            priority = where(action == frame.killer, PRIORITY, history[index])
            if hasattr(self.game.rules, "promise"):
                priority = child.priority + maximum(minimum(priority, TIES // 2 - 1), -TIES // 2)
            # The move that decided this position in an earlier search comes first.
            child.priority = where(action == move, 2 * PRIORITY, priority)

    def note(self, frame: Frame, child: Child, action: Scalar, region: Region, best: Scalar) -> None:
        """Note the region of an action that is refuted, or that wins and is better than the best one so far."""
        low = child.low
        high = child.high
        with branch(high < frame.threshold):
            self.must.refute(frame, action, region, high < 0)
        with branch((low >= frame.threshold) & (low > best)):
            self.must.put(self.must.only(low > 0, self.must.played(action, region)))

    def winning_action(self, frame: Frame) -> Scalar:
        """Return an action that wins at once, or 0 if there is none."""
        action = registers(1, INT32)
        action[0] = 0
        with loop(frame.children) as i:
            child = self.child(frame, i)
            action[0] = where(child.low == FAR - 1, child.action, action[0])
        return maximum(minimum(action[0], self.actions - 1), 0)

    def path_index(self, action: Scalar) -> Scalar:
        """Return the index of the number of times that an action stands on the path."""
        return self.sizes.history * self.thread + 2 * REPEATS * self.actions + action

    def path_count(self, action: Scalar) -> Scalar:
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
        best, chosen, highest = (registers(1, INT32) for _ in range(3))
        best[0] = -(2**30)
        chosen[0] = -1
        highest[0] = -FAR
        with loop(children) as i:
            child = self.child(frame, i)
            high = child.high
            priority = child.priority
            # An action outside of all winning regions of the opponent cannot change the result.
            skipped = (high >= threshold) & ~self.must.allows(frame, child.action) if self.must.cells else scalar(False)
            better = (high >= threshold) & (priority > best[0]) & ~skipped
            best[0] = where(better, priority, best[0])
            chosen[0] = where(better, i, chosen[0])
            # Without an open child, the node's bound from above is the highest one of its children.
            highest[0] = maximum(highest[0], where(skipped, -FAR, high))
        any_left = chosen[0] >= 0
        with branch(any_left):
            child = self.child(frame, chosen[0])
            below = self.frame(depth + 1)
            frame.chosen = chosen[0]
            frame.visited = frame.visited + 1
            action = maximum(minimum(child.action, self.actions - 1), 0)
            self.arrays.history[self.path_index(action)] = self.path_count(action) + 1
            with branch(depth <= claims.MAX_CLAIMED_DEPTH):
                self.claims.add(child)
            same = self.chosen_player(depth, chosen[0]) == frame.player
            # The child's question is the same one, seen by its player to move and one ply later.
            below.threshold = nearer(where(same, threshold, 1 - threshold))
            self.depth[0] = depth + 1
            self.mode[0] = ENTER
        with branch(~any_left):
            self.result[0] = minimum(highest[0], frame.high)
            self.must.put(self.must.only(self.result[0] < 0, self.must.refuted(frame)))
            self.reached[0] = 0
            self.mode[0] = LEAVE

    def quit(self, depth: Scalar) -> None:
        """Remove the chosen child of the node at some depth from the path."""
        frame = self.frame(depth)
        child = self.child(frame, self.clamp(frame.chosen))
        action = maximum(minimum(child.action, self.actions - 1), 0)
        self.arrays.history[self.path_index(action)] = self.path_count(action) - 1
        with branch(depth <= claims.MAX_CLAIMED_DEPTH):
            self.claims.remove(child)

    def resume(self) -> None:
        """Leave the highest node that is decided by the table, where another thread may have stored it."""
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
                # Take the whole path below that node back.
                with loop(depth - level[0]) as k:
                    self.quit(level[0] + k)
                self.depth[0], self.mode[0] = level[0], LEAVE
                self.reached[0], self.result[0] = int32(wins), where(wins, entry.low, entry.high)
                self.must.put(self.must.only(where(wins, entry.low > 0, entry.high < 0), entry.region))
                frame.visited = 0  # it is stored already
            iteration.again = ~decided & (level[0] < depth - 1)

    def chosen_player(self, depth: Scalar, child: Scalar) -> Scalar:
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
            self.quit(depth - 1)
            child = self.child(above, self.clamp(above.chosen))
            # Entries that took the most work are kept longest, and saved in files.
            above.work = above.work + frame.work + 1
            same = frame.player == above.player
            # the bound from below of one player is the bound from above of the other
            value = where(same, farther(result), -farther(result))
            is_low = reached == same
            low = where(is_low, value, child.low)
            child.low, child.high = low, where(is_low, child.high, value)
            wins = low >= above.threshold
            if self.must.cells:
                self.note(above, child, child.action, self.must.get(), int32(-FAR))
            else:
                # A child that wins at once refutes its action. The same answer may win against the other actions as
                # well, and then they need no search.
                with branch(~same & ~wins & (result == FAR - 1)):
                    self.refute(depth, frame, above)
            self.depth[0] = depth - 1
            self.result[0] = maximum(low, above.low)
            self.reached[0] = int32(wins)
            self.mode[0] = where(wins, LEAVE, SELECT)

    def refute(self, depth: Scalar, frame: Frame, above: Frame) -> None:
        """Play the move of a node that wins at once also after the other actions of the node above."""
        action = self.winning_action(frame)
        with self.vectors(above.children) as i:
            s = self.packing.load(self.words(depth - 1, i).__getitem__)
            child = self.child(above, i)
            low = child.low
            high = child.high
            legal = has_action(self.mask(s), action)
            _, rewards, terminated, truncated = self.game.step(s, action, None)
            wins = (terminated | truncated) & (where(s.current_player == 0, rewards[0], rewards[1]) > 0.0)
            # Only open children of the opponent, where the answer is legal and wins.
            lost = (low < high) & (s.current_player != above.player) & legal & wins
            child.low = where(lost, 2 - FAR, low)
            child.high = where(lost, 2 - FAR, high)

    def learn(self, frame: Frame) -> None:
        """Raise the history of the move that decides a node, and lower that of the moves tried before it."""
        history = self.arrays.history
        failed = registers(1, INT32)
        failed[0] = 0
        with loop(frame.children) as i:
            child = self.child(frame, i)
            high = child.high
            # A child that loses in two plies needs hardly a search, and its move says nothing about the order.
            tried = (high < frame.threshold) & (high > 2 - FAR)
            index = child.history
            history[index] = maximum(history[index] - int32(tried), -PRIORITY)
            failed[0] = failed[0] + int32(tried)
        index = self.child(frame, frame.chosen).history
        history[index] = minimum(history[index] + failed[0], PRIORITY)

    def store(self, depth: Scalar, frame: Frame, result: Scalar, reached: Scalar) -> None:
        """Store a node's bounds in the table."""
        low = where(reached, result, frame.low)
        high = where(reached, frame.high, result)
        action = self.child(frame, self.clamp(frame.chosen)).action
        region = self.must.only(where(reached, result > 0, result < 0), self.must.get())
        entry = Found(reached, low, high, action, region)
        self.table.store(frame.bucket, self.position(depth, key=True), entry, frame.work)

"""Memory of a search's threads: their questions, their stacks, and packed positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import UINT32
from tensor_envs._engine.game import Game
from tensor_envs._engine.layout import Layout
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, scalar, uint32
from tensor_envs.rules.spec import GameState, Spec
from tensor_envs.search.records import Entry, NamedRecord

MAX_PLIES = 2**12 - 1
CHILDREN_AT_ONCE = 8  # children that are played together
REPEATS = 8  # times an action is played on a path that the history of moves tells apart


class Control(NamedRecord):
    """State of a thread's search, followed by the words of the root."""

    threshold = Entry()  # the question: whether the root's score is at least this
    status = Entry()  # `RUNNING` or how the search ended, see proof.py
    mode = Entry()  # next task, see proof.py
    depth = Entry()  # depth of the current node; the root's is 1
    nodes = Entry()  # nodes entered by the current launch
    bound = Entry()  # bound of the root's score
    reached = Entry()  # whether the root's score is at least the threshold, and so the bound
    question = Entry(UINT32)  # number of the question, which differs from 0

    def words(self, count: int) -> list[Scalar]:
        """Return the words of the root."""
        return [uint32(self.get(self.size + w)) for w in range(count)]


class Limits(NamedRecord):
    """Parameters of all threads."""

    nodes = Entry()  # nodes that a launch may enter
    buckets = Entry(UINT32)  # buckets of the table


class Frame(NamedRecord):
    """Node on a thread's stack, followed by `Child` arrays and two regions."""

    threshold = Entry()
    player = Entry()  # player to move
    children = Entry()  # number of legal actions
    chosen = Entry()  # current child
    visited = Entry()  # children searched so far
    low = Entry()  # bounds of the score that the table had
    high = Entry()
    work = Entry()  # nodes entered below
    bucket = Entry(UINT32)  # first word of its bucket in the table
    killer = Entry()  # action that decided the last node of this depth


class Child(NamedRecord):
    """Action of a node, by columns."""

    action = Entry()
    low = Entry()  # bounds of the node's score if it is played
    high = Entry()
    priority = Entry()
    history = Entry()  # its index in the history of moves
    bucket = Entry(UINT32)  # first word of its bucket in the table
    may_be_stored = Entry()  # whether its bucket may hold it


class Packing:
    """Words of an unfinished position: the fields without the episode, the plies bounded by `MAX_PLIES`."""

    def __init__(self, spec: Spec, by_ply: bool):
        self.by_ply = by_ply
        self.layout = Layout(replace(spec, max_plies=MAX_PLIES if by_ply else 1))
        (episode,) = self.layout.slots["episode"]
        self.kept = [w for w in range(self.layout.field_words) if w != episode.word]
        self.count = len(self.kept)

    def load(self, word_of: Callable[[int], Scalar]) -> GameState:
        """Return a state, given a function from an index in `kept` to that word."""
        index_of = {w: k for k, w in enumerate(self.kept)}
        loaded: dict[int, Scalar] = {}

        def load_once(w: Any) -> Scalar:
            if w not in index_of:
                return uint32(0)
            if w not in loaded:
                loaded[w] = word_of(index_of[w])
            return loaded[w]

        return self.layout.get_state(load_once)

    def pack(self, s: GameState) -> list[Scalar]:
        """Return the kept words of an unfinished state."""
        words: dict[int, Scalar] = {}
        # Equal positions must have equal words, so fields that do not matter are 0.
        s = s.replace(episode=uint32(0)) if self.by_ply else s.replace(episode=uint32(0), ply=int32(0))
        self.layout.put(words.__setitem__, s, [scalar(False)] * 2)
        return [words.get(w, uint32(0)) for w in self.kept]


class Sizes(NamedTuple):
    """Sizes of a thread's memory."""

    width: int  # children of a node, padded to whole vectors
    position: int  # words of a position
    frame: int  # words of a frame
    history: int  # words of the history of moves
    cells: int  # number of actions that colour a cell, see `must_play`

    @classmethod
    def of(cls, game: Game, by_ply: bool) -> Sizes:
        actions = game.spec.num_actions
        words = Packing(game.spec, by_ply).count
        width = -(-actions // CHILDREN_AT_ONCE) * CHILDREN_AT_ONCE
        cells = getattr(game.rules, "set_colouring", 0)
        frame = Frame.size + Child.size * width + 2 * -(-cells // WORD_BITS)
        return cls(width, words, frame, (2 * REPEATS + 1) * actions, cells)

    @property
    def region(self) -> int:
        """Words of a region."""
        return -(-self.cells // WORD_BITS)


def one_ply_earlier(score: Scalar) -> Scalar:
    """Return a score one ply earlier."""
    return score - int32(score > 0) + int32(score < 0)


def threshold_one_ply_later(threshold: Scalar) -> Scalar:
    """Return the threshold t with which `one_ply_earlier(score) >= threshold` is `score >= t`."""
    return threshold + int32(threshold > 0) - int32(threshold < 0)

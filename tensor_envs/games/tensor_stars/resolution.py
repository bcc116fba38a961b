"""The cards of a turn, resolved one after the other (F5 to F13), as branch-free code on the scalars of one game.

Pieces stand on *cells*: indices of spaces moved up by a margin, so that no step leads below 0 and a piece out of play
has a cell of its own, OUT, which no line leads into and from which none leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_
from typing import NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_stars.data import BLACK, CARDS, COMPASS, PIECES, WHITE, Board, StarsData
from tensor_envs.ops.bits import WORD, has, num_words, pack

PRINTED, REVERSED = CARDS, CARDS + 1  # the actions that answer a question of order
EVENTS = 2 * PIECES  # F5: two cards a piece
ALL_PLACED = 2 * PIECES  # cards of a turn


def word(value: int) -> Scalar:
    return UOp.const(value, dtypes.uint32)


def flag(table: Sequence[bool | None], card: Scalar) -> Scalar:
    """table[card] (uint32, in range), read as a bit of a constant. None: the entry does not matter."""
    known = {entry for entry in table if entry is not None}
    if len(known) < 2:
        return UOp.const(known == {True}, dtypes.bool)
    bits = sum(bool(entry) << i for i, entry in enumerate(table))
    return (word(bits) >> card & 1).ne(0)


@dataclass(frozen=True)
class Cells:
    """A board's spaces as cells, and sets of them as uint32 words."""

    board: Board

    @property
    def margin(self) -> int:
        return self.board.width + 1

    @property
    def out(self) -> int:
        """The cell of a piece out of play."""
        return self.margin - 1

    def set(self, indices: Iterable[int]) -> list[int]:
        return pack((i + self.margin for i in indices), self.board.size + 2 * self.margin)

    @property
    def num_words(self) -> int:
        return num_words(self.board.size + 2 * self.margin)

    @cached_property
    def entered(self) -> list[list[int]]:
        """By direction of the compass: the cells that a line leads into."""
        return [self.set(self.board.entered(d)) for d in range(len(COMPASS))]

    @cached_property
    def steps(self) -> list[int]:
        """By direction of the compass: the way from a cell to the next."""
        return [x + self.board.width * y for x, y in COMPASS]

    @cached_property
    def starts(self) -> list[int]:
        return [i + self.margin for i in self.board.start_indices]


class Part(NamedTuple):
    """A part of a card as it applies to one piece."""

    step: Scalar  # from a cell to the next in its direction
    open: Sequence[Scalar]  # the cells that a line leads into in its direction, and no piece stands on

    def walk(self, cell: Scalar, further: Sequence[Scalar]) -> Scalar:
        """F8, F9, G16: as many of its spaces as can be made; `further[k]`: whether it has more than k spaces.

        Each is tried by itself: a step that is shut once is shut for the rest of the part.
        """
        for more in further:
            there = cell + self.step
            cell = (more & has(self.open, there.cast(dtypes.uint32))).where(there, cell)
        return cell


class Resolution:
    """A turn being resolved: plays the cards from the cursor on, until a question is asked or the game is won.

    Nothing happens unless all six cards are placed. Afterwards `going` says that they have all been played.
    answered: whether the action `answer` is one, to the question about the card at the cursor.
    """

    def __init__(self, rules: StarsData, s: GameState, answered: Scalar, answer: Scalar):
        self.rules, self.cells, self.before = rules, Cells(rules.board), s
        self.answered, self.reversed = answered, answer.eq(REVERSED)
        self.going = s.placed.eq(ALL_PLACED)
        self.pieces: list[Scalar] = [pos + self.cells.margin for pos in s.pos]
        # before all are placed some cards are none, and card 0 will do
        cards = [self.going.where(card, 0).cast(dtypes.uint32) for card in s.commit]
        self.cards = cards[:PIECES], cards[PIECES:]
        self.scored, self.points = list(s.scored), list(s.points)
        self.mover, self.winner, self.cursor, self.player = s.mover, s.winner, s.cursor, s.current_player
        for event in range(EVENTS):
            self.card_event(*divmod(event, 2))

    # *** one card ***

    def card_event(self, piece: int, second: int) -> None:
        """Section 4.3: the first or second card of a piece."""
        event, here = 2 * piece + second, self.pieces[piece]
        due = self.going & (event < self.before.cursor).logical_not()
        if not second:
            self.mover = due.where(-1, self.mover)
        actor, card, cancelled = self.acting(piece, second)
        plays = due & cancelled.logical_not() & self.movable(piece)

        parts = [self.part(number, piece, card, actor ^ self.before.flip) for number in range(2)]
        there, moved = self.walk(here, card, parts, (0, 1))
        if any(c.either for c in self.rules.deck):
            at_cursor = self.before.cursor.eq(event)
            other_end, other_moved = self.walk(here, card, parts, (1, 0))
            asks = (
                plays & self.has_choice(card, there.ne(other_end)) & (self.answered & at_cursor).logical_not()
            )
            self.stop(asks, event)
            self.player = asks.where(actor.cast(dtypes.int32), self.player)
            plays &= asks.logical_not()
            turned = self.reversed & at_cursor
            there, moved = turned.where(other_end, there), turned.where(other_moved, moved)

        moves = plays & moved
        self.pieces[piece] = moves.where(there, here)
        self.mover = moves.where(actor.cast(dtypes.int32), self.mover)
        if self.rules.win_check == "card":
            self.score(piece, event, moves, actor)  # F12, G8
        elif second:
            self.score(piece, event, due & self.going & (self.mover < 0).logical_not(), self.mover.eq(1))

    def acting(self, piece: int, second: int) -> tuple[Scalar, Scalar, Scalar]:
        """F6, F7: whether it is player 1 whose card acts, the card, and whether equal numbers cancel it."""
        cards = [placed[piece] for placed in self.cards]
        ranks = [self.rank(card) for card in cards]
        actor = ranks[1] < ranks[0] if second else ranks[0] < ranks[1]
        return actor, actor.where(cards[1], cards[0]), ranks[0].eq(ranks[1])

    def has_choice(self, card: Scalar, differs: Scalar) -> Scalar:
        """F10, G14: whether the order of a card's parts is asked for."""
        either = flag([c.either for c in self.rules.deck], card)
        return either & differs if self.rules.ask_order == "differs" else either

    def rank(self, card: Scalar) -> Scalar:
        """A number that orders cards as their printed numbers do."""
        numbers = [card.number for card in self.rules.deck]
        ranks = [sorted(set(numbers)).index(number) for number in numbers]
        if ranks == sorted(set(ranks)):
            return card
        bits = [flag([bool(rank >> i & 1) for rank in ranks], card) for i in range(max(ranks).bit_length())]
        return sum((bit.cast(dtypes.uint32) << i for i, bit in enumerate(bits)), start=word(0))

    def movable(self, piece: int) -> Scalar:
        """Whether cards have an effect on a piece: not once it has scored (G17), nor out of play (G20)."""
        if self.rules.points_to_win == 1:  # then neither is ever so while the game goes on
            return UOp.const(True, dtypes.bool)
        movable = self.pieces[piece].ne(self.cells.out)
        return movable & self.scored[piece].logical_not() if self.rules.score_stops_piece else movable

    def stop(self, condition: Scalar, event: int) -> None:
        self.going &= condition.logical_not()
        self.cursor = condition.where(event, self.cursor)

    # *** movement ***

    def part(self, number: int, piece: int, card: Scalar, side: Scalar) -> Part:
        """Part 0 or 1 of a card for a piece; F19: its direction is the card owner's."""
        directions = [c.moves[number][0] if number < len(c.moves) else None for c in self.rules.deck]
        vertical = flag([None if d is None else d >= 2 for d in directions], card)
        onward = flag([None if d is None else d % 2 == 1 for d in directions], card) ^ side

        def choose(west: Scalar, east: Scalar, north: Scalar, south: Scalar) -> Scalar:
            return vertical.where(onward.where(south, north), onward.where(east, west))

        others = [cell for other, cell in enumerate(self.pieces) if other != piece]
        lines = [
            choose(*(word(cells[w]) for cells in self.cells.entered)) for w in range(self.cells.num_words)
        ]
        step = choose(*(UOp.const(step, dtypes.int32) for step in self.cells.steps))
        return Part(step, [a & ~b for a, b in zip(lines, self.occupied(others), strict=True)])

    def occupied(self, pieces: Sequence[Scalar]) -> list[Scalar]:
        """The set of the pieces' cells."""
        places = [cell.cast(dtypes.uint32) for cell in pieces]
        bits = [(word(1) << place % WORD, place // WORD) for place in places]
        return [
            reduce(or_, (which.eq(w).where(bit, word(0)) for bit, which in bits))
            for w in range(self.cells.num_words)
        ]

    def walk(
        self, cell: Scalar, card: Scalar, parts: Sequence[Part], order: Sequence[int]
    ) -> tuple[Scalar, Scalar]:
        """F8, G15: the parts of a card one after the other -> the cell it ends on, and whether a space was moved (G11).

        Of cards without a choice only the printed order matters.
        """
        moved = UOp.const(False, dtypes.bool)
        for number in order:
            counts = [c.moves[number][1] if number < len(c.moves) else 0 for c in self.rules.deck]
            matters = [order == (0, 1) or c.either for c in self.rules.deck]
            most = max(count for count, m in zip(counts, matters, strict=True) if m)
            further = [
                flag([count > k if m else None for count, m in zip(counts, matters, strict=True)], card)
                for k in range(most)
            ]
            there = parts[number].walk(cell, further)
            moved, cell = moved | there.ne(cell), there
        return cell, moved

    # *** Stars ***

    def score(self, piece: int, event: int, ended: Scalar, mover: Scalar) -> None:
        """F12: the player (is it 1?) who moved a piece has ended its movement, on a Star or not."""
        rules, board, cell = self.rules, self.rules.board, self.pieces[piece]

        def on_star(*sides: int) -> Scalar:
            stars = self.cells.set(board.star_indices(*sides))
            return has([word(stars_word) for stars_word in stars], cell.cast(dtypes.uint32))

        if rules.star_rule == "any":
            counts, earner = on_star(BLACK, WHITE), mover
        else:
            whites = on_star(WHITE)
            owner = whites ^ self.before.flip
            earner = owner if rules.star_rule == "own" else owner.logical_not()  # F13
            counts = whites | on_star(BLACK)
            if rules.star_credit == "mover":
                counts &= earner.eq(mover)  # G13
        counts &= ended
        self.scored[piece] |= counts
        gains = [counts & earner.logical_not(), counts & earner]
        self.points = [
            points + gain.cast(dtypes.int32) for points, gain in zip(self.points, gains, strict=True)
        ]
        won = counts
        if rules.points_to_win > 1:
            won = reduce(or_, (points.eq(rules.points_to_win) for points in self.points)) & counts
        self.winner = won.where(earner.cast(dtypes.int32), self.winner)
        self.stop(won, event)  # G9, G21
        if rules.reset_at_once and rules.points_to_win > 1:  # G18
            self.lift([counts & won.logical_not() if p == piece else None for p in range(PIECES)])
            self.put_back(counts & won.logical_not(), [piece])

    def lift(self, scored: Sequence[Scalar | None]) -> None:
        """G19: takes pieces that have scored off the board, or sets up all three (None: has not)."""
        known = [condition for condition in scored if condition is not None]
        for piece, condition in enumerate(scored):
            if self.rules.reset == "all":
                self.pieces[piece] = reduce(or_, known).where(self.cells.starts[piece], self.pieces[piece])
            elif condition is not None:
                self.pieces[piece] = condition.where(self.cells.out, self.pieces[piece])

    def put_back(self, when: Scalar, pieces: Iterable[int]) -> None:
        """F14: pieces out of play return to their starts where these are vacant."""
        before = list(self.pieces)
        for piece in pieces:
            start = self.cells.starts[piece]
            vacant = reduce(and_, (cell.ne(start) for other, cell in enumerate(before) if other != piece))
            returns = when & before[piece].eq(self.cells.out) & vacant
            self.pieces[piece] = returns.where(start, before[piece])

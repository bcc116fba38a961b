"""The cards of a turn, resolved one after the other (F5 to F14).

Pieces stand on *cells*: indices of spaces moved up by a margin, so that no step leads below 0 and a piece out of play
has a cell of its own, `out`, which no line leads into and from which none leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensor_envs.games.tensor_stars.data import BLACK, CARDS, COMPASS, PIECES, WHITE, Board, Card, StarsFields
from tensor_envs.rules import (
    GameState,
    Scalar,
    Value,
    all_of,
    any_of,
    bit,
    has_bit,
    integer,
    lookup,
    num_words,
    pack,
    scalar,
    union_of,
    where,
    word,
)

PRINTED, REVERSED = CARDS, CARDS + 1  # the actions that answer a question of order
EVENTS = 2 * PIECES  # F5: two cards a piece
ALL_PLACED = 2 * PIECES  # cards of a turn


class PaddedBoard:
    """A board's spaces as cells, and sets of them as words.

    Attributes:
        out: the cell of a piece out of play.
        starts: of the pieces.
        steps: by direction of the compass, the way from a cell to the next.
        entered: by direction of the compass, the set of the cells that a line leads into.
    """

    def __init__(self, board: Board):
        self.margin = board.width + 1
        self.out = self.margin - 1
        self.size = board.size + 2 * self.margin
        self.starts = [space + self.margin for space in board.start_indices]
        self.steps = [x + board.width * y for x, y in COMPASS]
        self.entered = [self.set(board.entered(d)) for d in range(len(COMPASS))]

    def set(self, spaces: Iterable[int]) -> list[int]:
        return pack((space + self.margin for space in spaces), self.size)

    def set_of(self, pieces: Sequence[Scalar]) -> list[Scalar]:
        """The set of the cells that some pieces stand on."""
        return [
            union_of(where(cell >> 5 == w, bit(cell & 31), 0) for cell in pieces)
            for w in range(num_words(self.size))
        ]


def on(cells: Sequence[Value], cell: Scalar) -> Scalar:
    """Whether a cell is in a set. Comparing finds its word and cutting out its bit: both cost less than a division."""
    chosen = word(cells[0])
    for w in range(1, len(cells)):
        chosen = where(cell < 32 * w, chosen, word(cells[w]))
    return has_bit(chosen, cell & 31)


# A part of a card as it applies to one piece: the step from a cell to the next in its direction, and the cells that a
# line leads into in that direction, and no other piece stands on.
Way = tuple[Scalar, list[Scalar]]


class Resolution:
    """A turn being resolved: plays the cards from the cursor on, until a question is asked or the game is won.

    Nothing happens unless all six cards are placed. Afterwards `going` says that they have all been played.
    answered: whether the action `answer` is one, to the question about the card at the cursor.
    """

    def __init__(
        self, rules: StarsFields, padded: PaddedBoard, s: GameState, answered: Scalar, answer: Scalar
    ):
        self.rules, self.padded, self.before = rules, padded, s
        self.answered, self.reversed = answered, answer == REVERSED
        self.going = s.placed == ALL_PLACED
        self.pieces: list[Scalar] = [pos + padded.margin for pos in s.pos]
        # before all are placed some cards are none, and card 0 will do
        cards = [where(self.going, card, 0) for card in s.commit]
        self.cards = cards[:PIECES], cards[PIECES:]
        self.scored, self.points = list(s.scored), list(s.points)
        self.mover, self.winner, self.cursor, self.player = s.mover, s.winner, s.cursor, s.current_player
        for piece in range(PIECES):
            self.play_card(piece, 0)
            self.play_card(piece, 1)
        self.end_turn()

    @property
    def state(self) -> GameState:
        return self.before.replace(
            pos=[cell - self.padded.margin for cell in self.pieces],
            scored=self.scored,
            points=self.points,
            cursor=self.cursor,
            mover=self.mover,
            winner=self.winner,
            current_player=self.player,
        )

    # *** one card ***

    def play_card(self, piece: int, second: int) -> None:
        """F5, F10: the first or second card of a piece."""
        event, here = 2 * piece + second, self.pieces[piece]
        due = self.going & (self.before.cursor <= event)
        if not second:
            self.mover = where(due, -1, self.mover)
        actor, card, cancelled = self.acting(piece, second)
        plays = due & ~cancelled & self.movable(piece)

        ways = [self.way(number, piece, card, actor ^ self.before.flip) for number in range(2)]
        there, moved = self.walk(here, card, ways, (0, 1))
        if either := [c for c in self.rules.deck if c.either]:
            other_end, other_moved = self.walk(here, card, ways, (1, 0))
            at_cursor = self.before.cursor == event
            differs = there != other_end if self.rules.ask_order == "differs" else True  # G14
            asks = plays & self.is_one_of(card, either) & differs & ~(self.answered & at_cursor)
            self.stop(asks, event)
            self.player = where(asks, actor, self.player)
            plays &= ~asks
            turned = self.reversed & at_cursor
            there, moved = where(turned, other_end, there), where(turned, other_moved, moved)

        moves = plays & moved
        self.pieces[piece] = where(moves, there, here)
        self.mover = where(moves, actor, self.mover)
        if self.rules.win_check == "card":
            self.score(piece, event, moves, actor)  # F12, G8
        elif second:
            self.score(piece, event, due & self.going & (self.mover >= 0), self.mover == 1)

    def acting(self, piece: int, second: int) -> tuple[Scalar, Scalar, Scalar]:
        """F6, F7: whether it is player 1 whose card acts, the card, and whether equal numbers cancel it."""
        numbers = [card.number for card in self.rules.deck]
        ranks = [sorted(set(numbers)).index(number) for number in numbers]
        cards = [placed[piece] for placed in self.cards]
        # the cards of the printed deck are in the order of their numbers
        a, b = cards if ranks == [*range(CARDS)] else [lookup(ranks, card) for card in cards]
        actor = b < a if second else a < b
        return actor, where(actor, cards[1], cards[0]), a == b

    def is_one_of(self, card: Scalar, chosen: Sequence[Card], among: Sequence[Card] | None = None) -> Scalar:
        """Whether a card is one of the chosen: a bit of a constant. `among`: only of these the answer matters."""
        deck = self.rules.deck
        if len(chosen) in (0, len(among or deck)):
            return scalar(len(chosen) > 0)
        return has_bit(integer(sum(1 << i for i, c in enumerate(deck) if c in chosen)), card)

    def movable(self, piece: int) -> Scalar:
        """Whether cards have an effect on a piece: not once it has scored (G17), nor out of play (G20)."""
        in_play = self.pieces[piece] != self.padded.out if self.rules.pieces_leave else scalar(True)
        stops = self.rules.score_stops_piece and self.rules.points_to_win > 1  # else the game is over
        return in_play & ~self.scored[piece] if stops else in_play

    def stop(self, condition: Scalar, event: int) -> None:
        self.going &= ~condition
        self.cursor = where(condition, event, self.cursor)

    # *** movement ***

    def way(self, number: int, piece: int, card: Scalar, side: Scalar) -> Way:
        """F8, F19: how part 0 or 1 of a card leads a piece on; for Black left and right are north and south."""
        cards = [c for c in self.rules.deck if number < len(c.parts)]
        sideways = self.is_one_of(card, [c for c in cards if c.parts[number][0] in "LR"], cards)
        onward = self.is_one_of(card, [c for c in cards if c.parts[number][0] in "AR"], cards) ^ side
        by_direction = zip(self.padded.steps, self.padded.entered, strict=True)
        west, east, north, south = ([integer(step), *map(word, entered)] for step, entered in by_direction)
        step, *entered = where(sideways, where(onward, south, north), where(onward, east, west))
        others = self.padded.set_of([cell for other, cell in enumerate(self.pieces) if other != piece])
        return step, [a & ~b for a, b in zip(entered, others, strict=True)]

    def walk(
        self, cell: Scalar, card: Scalar, ways: Sequence[Way], order: Sequence[int]
    ) -> tuple[Scalar, Scalar]:
        """F9, G15: a card's parts one after the other -> the cell that a piece ends on, whether it has moved (G11).

        Every space is tried by itself, for what is shut once is shut for the rest of the part (G16).
        """
        moved = scalar(False)
        cards = [c for c in self.rules.deck if c.either or order == (0, 1)]  # that can come in this order
        for number in order:
            start, (step, open_cells) = cell, ways[number]
            spaces = [c.moves[number][1] for c in cards if number < len(c.moves)]
            for k in range(max(spaces, default=0)):
                further = [c for c in cards if number < len(c.moves) and c.moves[number][1] > k]
                there = cell + step
                cell = where(self.is_one_of(card, further, cards) & on(open_cells, there), there, cell)
            moved |= cell != start
        return cell, moved

    # *** Stars ***

    def score(self, piece: int, event: int, ended: Scalar, mover: Scalar) -> None:
        """F12: whether it is player 1 who moved a piece that has `ended` its movement, on a Star or not."""
        counts, earner = self.star(self.pieces[piece], mover)
        counts &= ended
        self.scored[piece] |= counts
        self.points = [self.points[0] + (counts & ~earner), self.points[1] + (counts & earner)]
        won = counts
        if self.rules.points_to_win > 1:
            won = counts & any_of(points == self.rules.points_to_win for points in self.points)
        self.winner = where(won, earner, self.winner)
        self.stop(won, event)  # G9, G21
        if self.rules.reset_at_once:  # G18
            stays = counts & ~won
            self.take_off([stays if p == piece else False for p in range(PIECES)])
            self.put_back(stays, [piece])

    def star(self, cell: Scalar, mover: Scalar) -> tuple[Scalar, Scalar]:
        """F13: whether a cell is a Star that counts, and whether for player 1."""
        rules, star_indices = self.rules, self.rules.board.star_indices
        if rules.star_rule == "any":
            return on(self.padded.set(star_indices(BLACK, WHITE)), cell), mover
        is_white = on(self.padded.set(star_indices(WHITE)), cell)
        owner = is_white ^ self.before.flip
        earner = owner if rules.star_rule == "own" else ~owner
        is_star = is_white | on(self.padded.set(star_indices(BLACK)), cell)
        return (is_star & (earner == mover) if rules.star_credit == "mover" else is_star), earner  # G13

    def end_turn(self) -> None:
        """F14, G18: what becomes of the pieces if all cards have been played without a win."""
        if not self.rules.reset_at_once:
            self.take_off([self.going & scored for scored in self.scored])
        self.put_back(self.going, range(PIECES))

    def take_off(self, scored: Sequence[Value]) -> None:
        """G19: pieces that have scored leave the board; or all three are set up again."""
        if self.rules.pieces_leave:
            pairs = zip(scored, self.pieces, strict=True)
            self.pieces = [where(gone, self.padded.out, cell) for gone, cell in pairs]
        elif self.rules.points_to_win > 1:
            self.pieces = where(any_of(scored), self.padded.starts, self.pieces)

    def put_back(self, when: Scalar, pieces: Iterable[int]) -> None:
        """F14: pieces out of play return to their starts where these are vacant."""
        if not self.rules.pieces_leave:
            return
        before = list(self.pieces)
        for piece in pieces:
            start = self.padded.starts[piece]
            vacant = all_of(cell != start for other, cell in enumerate(before) if other != piece)
            self.pieces[piece] = where(
                when & (before[piece] == self.padded.out) & vacant, start, before[piece]
            )

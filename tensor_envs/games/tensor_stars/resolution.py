"""Resolution of a turn's cards, one after the other (F5 to F14).

Pieces stand on *cells*, which are indices of spaces moved up by a margin. No step leads below cell 0. A piece out of
play stands on the cell `out`, which no line enters or leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensor_envs.games.tensor_stars.data import BLACK, CARDS, COMPASS, PIECES, WHITE, Board, Card, StarsFields
from tensor_envs.rules import Scalar, Value, int32, scalar, uint32, where
from tensor_envs.rules.lists import all_of, any_of, bit, has_bit, lookup, num_words, pack, union_of
from tensor_envs.rules.spec import GameState

# the actions that answer a question of order
PRINTED = CARDS
REVERSED = CARDS + 1
EVENTS = 2 * PIECES  # F5: two cards a piece
ALL_PLACED = 2 * PIECES  # cards of a turn


class PaddedBoard:
    """Cells of a board with a margin, and sets of them as words.

    Attributes:
        out: cell of a piece out of play.
        starts: cells of the pieces at the start.
        steps: distance from a cell to the next, by direction of the compass.
        entered: set of cells that a line leads into, by direction of the compass.
    """

    def __init__(self, board: Board):
        self.margin = board.width + 1
        self.out = self.margin - 1
        self.size = board.size + 2 * self.margin
        self.starts = [space + self.margin for space in board.start_indices]
        self.steps = [x + board.width * y for x, y in COMPASS]
        self.entered = [self.set(board.entered(d)) for d in range(len(COMPASS))]

    def set(self, spaces: Iterable[int]) -> list[int]:
        """Return the set of some spaces, as words of plain ints."""
        return pack((space + self.margin for space in spaces), self.size)

    def set_of(self, pieces: Sequence[Scalar]) -> list[Scalar]:
        """Return the set of cells that some pieces stand on."""
        return [
            union_of(where(cell >> 5 == w, bit(cell & 31), 0) for cell in pieces) for w in range(num_words(self.size))
        ]


def on(cells: Sequence[Value], cell: Scalar) -> Scalar:
    """Return whether a cell is in a set. Comparisons find its word, since a division would cost more."""
    chosen = uint32(cells[0])
    for w in range(1, len(cells)):
        chosen = where(cell < 32 * w, chosen, uint32(cells[w]))
    return has_bit(chosen, cell & 31)


# Part of a card for one piece: the step from a cell to the next in its direction, and the cells that a line in that
# direction enters and no other piece occupies.
Way = tuple[Scalar, list[Scalar]]


class Resolution:
    """Turn under resolution: plays the cards from the cursor on, until a question is asked or the game is won.

    Nothing happens unless all six cards are placed. Afterwards `active` is True if all of them have been played.

    Args:
        rules: rule fields.
        padded: board of these rules.
        s: state with the cards placed.
        answered: whether the action answers the question about the card at the cursor.
        answer: the action.
    """

    def __init__(self, rules: StarsFields, padded: PaddedBoard, s: GameState, answered: Scalar, answer: Scalar):
        self.rules = rules
        self.padded = padded
        self.before = s
        self.answered = answered
        self.reversed = answer == REVERSED
        self.active = s.placed == ALL_PLACED
        self.pieces: list[Scalar] = [pos + padded.margin for pos in s.pos]
        # missing cards become card 0, which has no effect before all are placed
        self.cards = [[where(self.active, card, 0) for card in cards] for cards in s.commit]
        self.scored = list(s.scored)
        self.points = list(s.points)
        self.mover = s.mover
        self.winner = s.winner
        self.cursor = s.cursor
        self.player = s.current_player
        for piece in range(PIECES):
            self.play_card(piece, 0)
            self.play_card(piece, 1)
        self.end_turn()

    @property
    def state(self) -> GameState:
        """State after the resolution."""
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
        """Play the first or second card of a piece (F5, F10)."""
        event = 2 * piece + second
        here = self.pieces[piece]
        due = self.active & (self.before.cursor <= event)
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
            there = where(turned, other_end, there)
            moved = where(turned, other_moved, moved)

        moves = plays & moved
        self.pieces[piece] = where(moves, there, here)
        self.mover = where(moves, actor, self.mover)
        if self.rules.win_check == "card":
            self.score(piece, event, moves, actor)  # F12, G8
        elif second:
            self.score(piece, event, due & self.active & (self.mover >= 0), self.mover == 1)

    def acting(self, piece: int, second: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return whether player 1's card acts, that card, and whether equal numbers cancel it (F6, F7)."""
        numbers = [card.number for card in self.rules.deck]
        ranks = [sorted(set(numbers)).index(number) for number in numbers]
        cards = [placed[piece] for placed in self.cards]
        # the printed deck is in the order of its numbers: no lookup is needed
        a, b = cards if ranks == [*range(CARDS)] else [lookup(ranks, card) for card in cards]
        actor = b < a if second else a < b
        return actor, where(actor, cards[1], cards[0]), a == b

    def is_one_of(self, card: Scalar, chosen: Sequence[Card], among: Sequence[Card] | None = None) -> Scalar:
        """Return whether a card is one of `chosen`, as a bit of a constant.

        Args:
            card: a card.
            chosen: the set to test.
            among: the cards for which the result is used; default: the whole deck.
        """
        deck = self.rules.deck
        if len(chosen) in (0, len(among or deck)):
            return scalar(len(chosen) > 0)
        return has_bit(int32(sum(1 << i for i, c in enumerate(deck) if c in chosen)), card)

    def movable(self, piece: int) -> Scalar:
        """Return whether cards move a piece. They do not once it has scored (G17) or is out of play (G20)."""
        in_play = self.pieces[piece] != self.padded.out if self.rules.pieces_leave else scalar(True)
        stops = self.rules.score_stops_piece and self.rules.points_to_win > 1  # with one point to win, the game is over
        return in_play & ~self.scored[piece] if stops else in_play

    def stop(self, condition: Scalar, event: int) -> None:
        """Stop at a card event if a condition holds."""
        self.active &= ~condition
        self.cursor = where(condition, event, self.cursor)

    # *** movement ***

    def way(self, number: int, piece: int, card: Scalar, side: Scalar) -> Way:
        """Return the step and the open cells for part 0 or 1 of a card (F8, F19). Black's left is north."""
        cards = [c for c in self.rules.deck if number < len(c.parts)]
        sideways = self.is_one_of(card, [c for c in cards if c.parts[number][0] in "LR"], cards)
        onward = self.is_one_of(card, [c for c in cards if c.parts[number][0] in "AR"], cards) ^ side
        by_direction = zip(self.padded.steps, self.padded.entered, strict=True)
        west, east, north, south = ([int32(step), *map(uint32, entered)] for step, entered in by_direction)
        step, *entered = where(sideways, where(onward, south, north), where(onward, east, west))
        others = self.padded.set_of([cell for other, cell in enumerate(self.pieces) if other != piece])
        return step, [a & ~b for a, b in zip(entered, others, strict=True)]

    def walk(self, cell: Scalar, card: Scalar, ways: Sequence[Way], order: Sequence[int]) -> tuple[Scalar, Scalar]:
        """Play the parts of a card in an order (F9, G15).

        Each space is tried alone, since a step that is blocked stays blocked for the rest of the part (G16).

        Returns:
            The cell that the piece ends on, and whether it has moved (G11).
        """
        moved = scalar(False)
        cards = [c for c in self.rules.deck if c.either or order == (0, 1)]  # playable in this order
        for number in order:
            start = cell
            step, open_cells = ways[number]
            spaces = [c.moves[number][1] for c in cards if number < len(c.moves)]
            for k in range(max(spaces, default=0)):
                further = [c for c in cards if number < len(c.moves) and c.moves[number][1] > k]
                there = cell + step
                cell = where(self.is_one_of(card, further, cards) & on(open_cells, there), there, cell)
            moved |= cell != start
        return cell, moved

    # *** Stars ***

    def score(self, piece: int, event: int, ended: Scalar, mover: Scalar) -> None:
        """Score a piece whose movement has `ended` on a Star; `mover` is whether player 1 moved it (F12)."""
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
        """Return whether a cell is a Star that counts, and whether it counts for player 1 (F13)."""
        rules = self.rules
        star_indices = self.rules.board.star_indices
        if rules.star_rule == "any":
            return on(self.padded.set(star_indices(BLACK, WHITE)), cell), mover
        is_white = on(self.padded.set(star_indices(WHITE)), cell)
        owner = is_white ^ self.before.flip
        earner = owner if rules.star_rule == "own" else ~owner
        is_star = is_white | on(self.padded.set(star_indices(BLACK)), cell)
        return (is_star & (earner == mover) if rules.star_credit == "mover" else is_star), earner  # G13

    def end_turn(self) -> None:
        """Remove the scored pieces and put the active ones back, if all cards were played without a win (F14, G18)."""
        if not self.rules.reset_at_once:
            self.take_off([self.active & scored for scored in self.scored])
        self.put_back(self.active, range(PIECES))

    def take_off(self, scored: Sequence[Value]) -> None:
        """Remove the pieces that have scored, or set up all three again (G19)."""
        if self.rules.pieces_leave:
            pairs = zip(scored, self.pieces, strict=True)
            self.pieces = [where(gone, self.padded.out, cell) for gone, cell in pairs]
        elif self.rules.points_to_win > 1:
            self.pieces = where(any_of(scored), self.padded.starts, self.pieces)

    def put_back(self, when: Scalar, pieces: Iterable[int]) -> None:
        """Return pieces out of play to their starts where these are vacant (F14)."""
        if not self.rules.pieces_leave:
            return
        before = list(self.pieces)
        for piece in pieces:
            start = self.padded.starts[piece]
            vacant = all_of(cell != start for other, cell in enumerate(before) if other != piece)
            self.pieces[piece] = where(when & (before[piece] == self.padded.out) & vacant, start, before[piece])

"""Chinese checkers: pieces step and hop across a star; the first player with all ten in the opposite point wins.

Rules and rulings: RULES.md beside this file. Sets of cells are bits as in `star.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs.games._kit.sets import segment
from tensor_envs.games.chinese_checkers import star
from tensor_envs.games.chinese_checkers.star import BITS, CELLS, GRID, NUM_WAYS, POINTS, SEATS, SIDE, WAYS, WIDTHS
from tensor_envs.rules import WORD_BITS, Actions, GridSet, Scalar, next_player, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import add_bits, lookup, num_words, put, select, sum_of, union_of
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_TURNS = 10_000
BOARD = GRID.of(BITS)  # all cells
# cells after a gap in the bits, and how many bits this gap has
GAPS = [(cell, BITS[cell] - BITS[cell - 1] - 1) for cell in range(1, CELLS) if BITS[cell] > BITS[cell - 1] + 1]
# up to five cells of a row, whose moves in six directions fit a word: the first cell and the number of cells
GROUPS = [(cell, min(5, WIDTHS[row] - column)) for cell, (row, column) in enumerate(star.PLACES) if column % 5 == 0]
COPIES = 0x108421  # a product with it has five copies of five bits, one after the other
EVERY_SIXTH = 0x1041041  # bit k of copy k


@dataclass(frozen=True)
class ChineseCheckers:
    """Rule fields of Chinese checkers (S10).

    Attributes:
        players: 2, 3, 4 or 6.
        max_turns: turns of all players together after which the game is drawn, 1..10000.
    """

    players: int = 2
    max_turns: int = 1000

    actions = Actions(move=CELLS * NUM_WAYS, end_turn=1)

    def __post_init__(self) -> None:
        check_fields(self, players={*SEATS}, max_turns=(1, MAX_TURNS))

    @property
    def homes(self) -> list[tuple[int, ...]]:
        """Cells on which each player begins (S2)."""
        return [POINTS[point] for point in SEATS[self.players]]

    @property
    def goals(self) -> list[tuple[int, ...]]:
        """Cells that each player must fill (S2)."""
        return [POINTS[(point + 3) % len(POINTS)] for point in SEATS[self.players]]

    @property
    def spec(self) -> Spec:
        return Spec(
            self.players,
            self.actions.count,
            (self.players + 3, SIDE, SIDE),
            (
                Field("pieces", (self.players, GRID.words), kind="uint32"),
                # cells on which the piece that may hop on has been, its own among them; none at the start of a turn
                Field("visited", (GRID.words,), kind="uint32"),
                Field("turns", high=self.max_turns),
            ),
            max_legal=star.PIECES * NUM_WAYS,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"pieces": [*map(grid_set, self.homes)]}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return all moves; the end of a turn after a hop (S4), and a pass of a player without a move (S6)."""
        moves = interleaved(self.moves(s))
        hops = union_of(s.visited) != 0
        return self.actions.mask(move=moves, end_turn=hops | (union_of(moves) == 0))

    def moves(self, s: GameState) -> list[GridSet]:
        """Return the pieces that can move in each direction (S3, S4)."""
        occupied = union_of(map(GRID.set, s.pieces))
        free = BOARD - occupied
        own = GRID.set(s.pieces[s.current_player])
        visited = GRID.set(s.visited)
        hops = visited.any()
        movable = where(hops, own & visited, own)
        open_to_steps = where(hops, GRID.empty, free)
        open_to_hops = free - visited
        moves = []
        for way in WAYS:
            over = GRID.moved(occupied, -way) & GRID.moved(open_to_hops, -2 * way)
            moves.append(movable & (GRID.moved(open_to_steps, -way) | over))
        return moves

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        move = self.actions.decode(action).move
        occupied = union_of(map(GRID.set, s.pieces))
        # The piece steps, or hops if the cell beside it is occupied.
        cell = move.index // NUM_WAYS
        start = cell + sum_of(where(cell >= first, gap, 0) for first, gap in GAPS)
        way = lookup(WAYS, move.index % NUM_WAYS)
        hops = move.chosen & ((window(occupied, start + way) & 1) != 0)
        end = start + where(hops, 2 * way, way)
        left = where(move.chosen, GRID.cell(start), GRID.empty)
        entered = where(move.chosen, GRID.cell(end), GRID.empty)
        own = GRID.set(s.pieces[s.current_player]) - left | entered
        # After a hop the turn goes on if the piece can hop to a cell on which it has not been.
        occupied = occupied - left | entered
        visited = GRID.set(s.visited) | left | entered
        goes_on = hops & can_hop(end, occupied, BOARD - occupied - visited)
        turns = s.turns + ~goes_on
        after = s.replace(
            pieces=put(s.pieces, s.current_player, own),
            visited=where(goes_on, visited, GRID.empty),
            turns=turns,
            current_player=where(goes_on, s.current_player, next_player(s)),
        )
        missing = GRID.set(select([*map(grid_set, self.goals)], s.current_player)) - own
        won = ~goes_on & ~missing.any()
        return Outcome.win(after, s.current_player, won).draw(turns == self.max_turns)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return pieces by player, empty cells, the own goal, and the cells of the piece that may hop on (S11)."""
        sets = {}
        for k in range(self.players):
            seat = player + k - where(player + k >= self.players, self.players, 0)
            sets[f"pieces of player +{k}" if k else "own pieces"] = s.pieces[seat]
        sets["empty cells"] = BOARD - union_of(map(GRID.set, s.pieces))
        sets["own goal"] = select([*map(grid_set, self.goals)], player)
        sets["cells of this turn"] = s.visited
        return {name: bits(image(cells), SIDE**2) for name, cells in sets.items()}


def grid_set(cells: Sequence[int]) -> GridSet:
    """Return the set of some cells."""
    return GRID.of([BITS[cell] for cell in cells])


def window(cells: Sequence[Scalar], start: Scalar) -> Scalar:
    """Return the bits of a set from `start` on as one word; it may lie beside the set by up to a word."""
    words = [uint32(0), *cells, uint32(0), uint32(0)]
    at = (start + WORD_BITS) // WORD_BITS
    by = start % WORD_BITS
    return select(words[:-1], at) >> by | select(words[1:], at) << 1 << WORD_BITS - 1 - by


def can_hop(start: Scalar, occupied: GridSet, free: GridSet) -> Scalar:
    """Return whether a piece can hop from a cell, given by its bit, over an occupied cell to a free one."""
    hops = []
    for ways in (WAYS[:4], WAYS[4:]):  # the cells that they need are in one word
        first = min(ways[0], 2 * ways[0])
        over = window(occupied, start + first)
        onto = window(free, start + first)
        hops += [over >> way - first & onto >> 2 * way - first for way in ways]
    return (union_of(hops) & 1) != 0


def interleaved(moves: Sequence[GridSet]) -> list[Scalar]:
    """Return six sets of cells as one, in which bit 6 * cell + k is that of a cell in set k."""
    words = [uint32(0)] * num_words(CELLS * NUM_WAYS)
    for cell, count in GROUPS:
        fives = [segment(cells, BITS[cell], count) for cells in moves]
        group = union_of(five * (COPIES << k) & EVERY_SIXTH << k for k, five in enumerate(fives))
        add_bits(words, NUM_WAYS * cell, [group], NUM_WAYS * count)
    return words


def image(cells: Sequence[Scalar]) -> list[Scalar]:
    """Return a set of cells on the square grid of observations, which is wide enough for all rows (S11)."""
    words = [uint32(0)] * num_words(SIDE**2)
    for first, width in zip(star.FIRSTS, WIDTHS, strict=True):
        add_bits(words, star.PIXELS[first], [segment(cells, BITS[first], width)], width)
    return words

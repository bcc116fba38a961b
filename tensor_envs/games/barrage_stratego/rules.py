"""Barrage Stratego: both players set up a few pieces in secret, and whoever captures the flag wins.

Rules and rulings: RULES.md beside this file. A state lists the squares of each player's pieces in the order of their
kinds, each seen from its owner's side: square 10 * row + column, -1 for none. All else, and sets of squares, are seen
from the side of the player to move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs.games._kit.sets import chained
from tensor_envs.rules import Actions, Grid, GridSet, Scalar, all_of, any_of, maximum, put, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import bit, nth_bit, pack_flags, popcount, select, set_of, sum_of, union_of
from tensor_envs.rules.observation import Observation, Part, bits, constant, digits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIDE = 10
SQUARES = SIDE * SIDE
PLACES = 4 * SIDE  # squares of the set-up, the first of all
LAKES = (42, 43, 46, 47, 52, 53, 56, 57)
KINDS = ("flag", "bomb", "spy", "scout", "miner", "general", "marshal")
FLAG, BOMB, SPY, SCOUT, MINER, GENERAL, MARSHAL = range(len(KINDS))
STRENGTH = (0, 11, 1, 2, 3, 9, 10)  # by kind
SURPRISES = ((MINER, BOMB), (SPY, MARSHAL))  # kinds that capture a stronger one
QUIET_DIGITS = 8
MAX_TIMES = 3  # moves in a row between the same two squares (B8)
DISTANCES = SIDE - 1
MOVES = 2 * DISTANCES * SQUARES
SIDES = ((1, 0), (0, 1), (-1, 0), (0, -1))  # steps up, right


@dataclass(frozen=True)
class BarrageStratego:
    """Rule fields of Barrage Stratego (B16).

    Attributes:
        bombs, spies, scouts, miners, generals, marshals: pieces of each kind beside the flag, 0..3.
        two_squares: whether a piece may not move between the same two squares more than three times in a row.
        quiet_plies: plies without a fight after which the game is drawn, 1..255.
    """

    bombs: int = 1
    spies: int = 1
    scouts: int = 2
    miners: int = 1
    generals: int = 1
    marshals: int = 1
    two_squares: bool = True
    quiet_plies: int = 200

    actions = Actions(place=PLACES, move=MOVES)
    grid = Grid(SIDE, SIDE)

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("bombs", "spies", "scouts", "miners", "generals", "marshals"), (0, 3))
        check_fields(self, **counts, two_squares=bool, quiet_plies=(1, 2**QUIET_DIGITS - 1))

    @property
    def kinds(self) -> tuple[int, ...]:
        """Kind of each piece of a player (B2)."""
        counts = (1, self.bombs, self.spies, self.scouts, self.miners, self.generals, self.marshals)
        return tuple(kind for kind, count in enumerate(counts) for _ in range(count))

    @property
    def spec(self) -> Spec:
        count = len(self.kinds)
        fields = (
            Field("squares", (2, count), low=-1, high=SQUARES - 1),
            Field("moved", (2, count), high=1),  # whether a piece has moved
            Field("shown", (2, count), high=1),  # whether the opponent knows its kind
            Field("placed", high=2 * count),  # number of pieces that have been placed
            # action by which each player would take back the last move, and moves in a row to and fro (B8)
            Field("back", (2,), low=-1, high=self.actions.count - 1),
            Field("times", (2,), high=MAX_TIMES),
            Field("quiet", high=self.quiet_plies),  # moves since the last fight
        )
        shape = (2 * len(KINDS) + 4 + count + 8 + 1 + QUIET_DIGITS, SIDE, SIDE)
        max_legal = max(PLACES, 2 * DISTANCES * self.scouts + len(SIDES) * (count - 1 - self.bombs - self.scouts))
        return Spec(2, self.actions.count, shape, fields, perfect_information=False, max_legal=max_legal)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"squares": [[-1] * len(self.kinds)] * 2, "back": [-1, -1]}

    def in_setup(self, s: GameState) -> Scalar:
        """Return whether pieces are still to be placed (B3)."""
        return s.placed < 2 * len(self.kinds)

    def by_kind(self, values: Sequence[Any]) -> list[list[Any]]:
        """Return values of a player's pieces in a list for each kind."""
        return [[x for x, k in zip(values, self.kinds, strict=True) if k == kind] for kind in range(len(KINDS))]

    def cells(self, squares: Sequence[Any]) -> GridSet:
        """Return the set of some squares; those below 0 are none."""
        return self.grid.set(set_of(squares, SQUARES))

    def legal_action_mask(self, s: GameState) -> Mask:
        """Allow free squares of the set-up, or moves (B3, B5 to B8)."""
        free = self.grid.full - self.cells(s.squares[s.current_player])
        return self.actions.mask(place=where(self.in_setup(s), free, self.grid.empty)[:2], move=self.moves(s))

    def moves(self, s: GameState) -> list[Scalar]:
        """Return the set of the legal moves, which is empty during the set-up."""
        grid = self.grid
        own = s.squares[s.current_player]
        other = [turned(square) for square in s.squares[1 - s.current_player]]
        free = grid.full - self.cells([*own, *other]) - grid.of(LAKES)
        targets = free | self.cells(other)
        scouts = self.cells(self.by_kind(own)[SCOUT])
        movers = self.cells(own[1 + self.bombs :])
        planes = [grid.empty] * (2 * DISTANCES)
        for up, right in SIDES:
            # Pieces that can still move on, and the squares from which a move of this distance ends on the board.
            runners, others = scouts, movers
            ahead, free_ahead = targets, free
            for distance in range(1, SIDE):
                ahead = grid.shift(ahead, -up, -right)
                free_ahead = grid.shift(free_ahead, -up, -right)
                k = (up * distance % SIDE or DISTANCES + right * distance % SIDE) - 1  # B5
                planes[k] = planes[k] | others & ahead
                runners = others = runners & free_ahead
        # A piece may not go back once more, unless it attacks (B8).
        back = s.back[s.current_player]
        _, goal = ends_of(maximum(back - PLACES, 0))
        is_barred = (s.times[s.current_player] == MAX_TIMES) & all_of(square != goal for square in other)
        barred = set_of([where(is_barred, back - PLACES, -1)], MOVES)
        words = zip(chained(*((plane, SQUARES) for plane in planes)), barred, strict=True)
        return [where(self.in_setup(s), 0, word & ~no) for word, no in words]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        a = self.actions.decode(action)
        player = s.current_player
        other = 1 - player
        places = a.place.chosen
        start, end = ends_of(a.move.index)
        # A piece that moves onto a piece of the opponent fights (B7).
        moving = [~places & (square == start) for square in s.squares[player]]
        attacked = [~places & (turned(square) == end) for square in s.squares[other]]
        attacks = any_of(attacked)
        strengths = [STRENGTH[kind] for kind in self.kinds]
        mine, theirs = (sum_of(map(where, here, strengths, [0] * len(here))) for here in (moving, attacked))
        surprises = [(mine == STRENGTH[kind]) & (theirs == STRENGTH[victim]) for kind, victim in SURPRISES]
        wins = any_of([mine > theirs, *surprises])
        goal = where(attacks & ~wins, -1, end)
        gone = attacks & (wins | (mine == theirs))
        own_squares = replaced(s.squares[player], moving, goal)
        own_squares = put(own_squares, where(places, s.placed >> 1, len(self.kinds)), a.place.index)
        other_squares = replaced(s.squares[other], [hit & gone for hit in attacked], -1)
        # Fights and runs reveal pieces (B6, B7).
        reveals = attacks | all_of(end - start != up * SIDE + right for up, right in SIDES)
        shown = put(s.shown, player, replaced(s.shown[player], [moves & reveals for moves in moving], 1))
        # A fight ends a sequence of moves to and fro (B8). The way back has a plane of the same line.
        plane = a.move.index // SQUARES
        back = PLACES + (where(plane < DISTANCES, DISTANCES - 1, 3 * DISTANCES - 1) - plane) * SQUARES + end
        tracked = ~places & ~attacks & self.two_squares
        times = where(action == s.back[player], s.times[player] + 1, 1)
        after = s.replace(
            squares=put(put(s.squares, player, own_squares), other, other_squares),
            moved=put(s.moved, player, replaced(s.moved[player], moving, 1)),
            shown=put(shown, other, replaced(s.shown[other], attacked, 1)),
            placed=s.placed + places,
            back=put(s.back, player, where(tracked, back, -1)),
            times=put(s.times, player, where(tracked, times, 0)),
            quiet=where(places | attacks, 0, s.quiet + 1),
            current_player=other,
        )
        # The flag is the first piece (B9).
        stuck = ~self.in_setup(after) & (union_of(self.moves(after)) == 0)  # B10
        return Outcome.win(after, player, attacked[0] | stuck).draw(after.quiet == self.quiet_plies)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return what the player knows of both armies, from the player's own side (B12)."""
        other = 1 - player
        own = s.squares[player]
        seen = [where(self.in_setup(s), -1, turned(square)) for square in s.squares[other]]
        known, unknown = (those(seen, s.shown[other], fact) for fact in (1, 0))
        gone = [(square < 0) & (fact == 1) for square, fact in zip(s.squares[other], s.shown[other], strict=True)]
        captured = [sum_of(facts) > k for facts in self.by_kind(gone) for k in range(len(facts))]
        return {
            "own pieces by kind": self.planes(self.by_kind(own)),
            "own pieces that have moved": self.planes([those(own, s.moved[player], 1)]),
            "own pieces that the opponent knows": self.planes([those(own, s.shown[player], 1)]),
            "known pieces of the opponent by kind": self.planes(self.by_kind(known)),
            "unknown ones that have not moved": self.planes([those(unknown, s.moved[other], 0)]),
            "unknown ones that have moved": self.planes([those(unknown, s.moved[other], 1)]),
            "captured pieces of the opponent by kind": [constant(fact, SQUARES) for fact in captured],
            "own last move without a fight, and its number in a row": self.last_move(s, player, player),
            "last move of the opponent": self.last_move(s, player, other),
            "the set-up goes on": constant(self.in_setup(s), SQUARES),
            "binary digits of the moves without a fight": digits(s.quiet, QUIET_DIGITS, SQUARES),
        }

    def planes(self, groups: Sequence[Sequence[Any]]) -> list[Part]:
        """Observe sets of squares."""
        return [bits(self.cells(squares), SQUARES) for squares in groups]

    def last_move(self, s: GameState, player: Scalar, mover: Scalar) -> list[Part]:
        """Observe the start and the end of the mover's last move, and the digits of its number in a row."""
        end, start = ends_of(maximum(s.back[mover] - PLACES, 0))
        seen = [where(player == mover, square, turned(square)) for square in (start, end)]
        planes = self.planes([[where(s.times[mover] > 0, square, -1)] for square in seen])
        return [*planes, *digits(s.times[mover], 2, SQUARES)]

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the opponent's unknown pieces, or all squares during the set-up (B13)."""
        squares = s.squares[1 - player]
        moved = s.moved[1 - player]
        hidden = [(square >= 0) & (known == 0) for square, known in zip(squares, s.shown[1 - player], strict=True)]
        rest = pack_flags(hidden)[0]
        still = pack_flags([fact == 0 for fact in moved])[0]
        free = uint64(2**PLACES - 1)
        sources = list[Scalar]()  # the piece whose place each piece takes
        drawn = list[Scalar]()
        for k, kind in enumerate(self.kinds):
            # The flag and the bombs come first, since they are among the pieces that have not moved.
            candidates = rest & still if kind in (FLAG, BOMB) else rest
            piece = nth_bit(candidates, chance.draw(k, popcount(candidates)))
            sources.append(where(hidden[k], piece, k))
            rest = rest & ~bit(sources[k])
            place = nth_bit(free, chance.draw(k, PLACES - k))
            free = free & ~(uint64(1) << place)
            drawn.append(where(squares[k] < 0, -1, where(self.in_setup(s), place, select(squares, sources[k]))))
        moved = [select(moved, source) for source in sources]
        return s.replace(squares=put(s.squares, 1 - player, drawn), moved=put(s.moved, 1 - player, moved))


def turned(square: Scalar) -> Scalar:
    """Return a square as the other player sees it; -1 stays."""
    return where(square < 0, -1, SQUARES - 1 - square)


def ends_of(move: Scalar) -> tuple[Scalar, Scalar]:
    """Return the squares where a move starts and ends (B5)."""
    plane = move // SQUARES
    start = move % SQUARES
    above = (start + SIDE * (plane + 1)) % SQUARES
    beside = start - start % SIDE + (start + plane + 1 - DISTANCES) % SIDE
    return start, where(plane < DISTANCES, above, beside)


def replaced(values: Sequence[Scalar], conditions: Sequence[Scalar], new: Any) -> list[Scalar]:
    """Return values with those replaced for which a condition holds."""
    return [where(here, new, value) for here, value in zip(conditions, values, strict=True)]


def those(squares: Sequence[Scalar], facts: Sequence[Scalar], fact: int) -> list[Scalar]:
    """Return the squares of the pieces with a fact, and -1 for others."""
    return [where(x == fact, square, -1) for x, square in zip(facts, squares, strict=True)]

"""Reference engine of Tensor (stars) in plain Python: lists and ints, one card after the other.

Source: the game's rules file; F, G, I and section numbers in comments are its numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.games.chance import Key, draw

Space = tuple[int, int]  # (x, y): x from Black to White, y downwards

COMMIT, ORDER, OVER = range(3)
PRINTED, REVERSED = 10, 11
PIECES, CARDS, EVENTS, TURNS = 3, 10, 6, 3
# Section 3; player and truncated of the dictionary have another name or type here.
LISTS = ["pos", "hand", "commit", "scored", "points"]
FIELDS = [*LISTS, "turn", "hands", "phase", "cursor", "mover", "winner", "flip"]

# F19: the directions are those of the card's owner, who faces the other player. Side 0 is Black, 1 is White.
COMPASS: tuple[dict[str, Space], ...] = (
    {"T": (-1, 0), "L": (0, -1), "R": (0, 1), "A": (1, 0)},
    {"T": (1, 0), "L": (0, 1), "R": (0, -1), "A": (-1, 0)},
)

# G1 to G4. A line drawn through several spaces in a row stands for every line between neighbours on it.
BOARD: dict[str, Any] = {
    "lines": (
        *(((0, y), (6, y)) for y in range(5)),
        *(((x, 0), (x, 4)) for x in (0, 2, 3, 4, 6)),
        ((1, 0), (1, 3)),  # none on to (1, 4)
        ((5, 1), (5, 4)),  # none up to (5, 0)
    ),
    "stars": (((0, 1), 0), ((6, 3), 1)),  # (space, side)
    "starts": ((4, 0), (3, 2), (2, 4)),  # red, blue, yellow
}

# G5, G6. A part is a direction (toward, left, right, away) and a number of spaces.
DECK: tuple[dict[str, Any], ...] = (
    {"number": 0, "parts": ("A1",), "either": False},
    {"number": 1, "parts": ("T3",), "either": False},
    {"number": 2, "parts": ("T1", "R1"), "either": True},
    {"number": 3, "parts": ("T1", "L1"), "either": True},
    {"number": 4, "parts": ("T2",), "either": False},
    {"number": 5, "parts": ("R2",), "either": False},
    {"number": 6, "parts": ("L2",), "either": False},
    {"number": 7, "parts": ("R1",), "either": False},
    {"number": 8, "parts": ("L1",), "either": False},
    {"number": 9, "parts": ("T1",), "either": False},
)

CHOICES = {
    "win_check": ("card", "piece"),
    "star_rule": ("any", "own", "opposite"),
    "star_credit": ("mover", "side"),
    "ask_order": ("differs", "always"),
    "reset": ("piece", "all"),
}


@dataclass(frozen=True)
class StarsRules:
    """Rule fields of section 2. A key left out of `board` keeps its default; `deck` is all ten cards."""

    board: Mapping[str, Any] = field(default_factory=dict)
    deck: Sequence[Mapping[str, Any]] = DECK
    win_check: str = "card"  # G8
    star_rule: str = "any"  # G12
    star_credit: str = "mover"  # G13
    ask_order: str = "differs"  # G14
    score_stops_piece: bool = True  # G17
    reset_at_once: bool = False  # G18
    reset: str = "piece"  # G19
    points_to_win: int = 1  # G21; 3 is Variant 2
    random_colours: bool = False  # G23
    max_hands: int = 50  # G24

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        if self.points_to_win < 1 or self.max_hands < 1 or len(self.deck) != CARDS:
            raise ValueError(f"need at least one point, one hand, and ten cards, got {self}")


class Card:
    def __init__(self, number: int, parts: Sequence[str], either: bool = False) -> None:
        self.number, self.either = number, either
        self.parts = [(part[0], int(part[1:])) for part in parts]
        in_order = all(direction in "TLRA" and count > 0 for direction, count in self.parts)
        if not in_order or not 1 + either <= len(parts) <= 2:
            raise ValueError(f"a card has one part such as 'T3', or two (a must with either), got {parts!r}")


class Board:
    """Board whose space (x, y) has the index width * y + x in the smallest box that holds (0, 0) and every line."""

    def __init__(self, lines: Any, stars: Any, starts: Any) -> None:
        joins: set[tuple[Space, Space]] = set()
        for (x0, y0), (x1, y1) in (sorted(map(tuple, line)) for line in lines):
            if min(x0, y0) < 0 or (x0 == x1) == (y0 == y1):  # G25
                raise ValueError(f"a line runs straight between two spaces, got {((x0, y0), (x1, y1))}")
            joins |= set(pairwise((x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)))
        exist = {space for join in joins for space in join}
        self.width = 1 + max(x for x, _ in exist)
        self.size = self.width * (1 + max(y for _, y in exist))
        self.spaces = {self.index(space) for space in exist}
        self.lines = {frozenset(map(self.index, join)) for join in joins}
        for marked in (starts, [space for space, _ in stars]):
            if len({tuple(space) for space in marked} & exist) < len(marked):
                raise ValueError(f"Stars and starts are different spaces of the board, got {marked}")
        if len(starts) != PIECES or not {side for _, side in stars} <= {0, 1}:
            raise ValueError(f"need three starts, and Stars of side 0 or 1, got {starts} and {stars}")
        self.stars: dict[int, int] = {self.index(space): side for space, side in stars}
        self.starts = [self.index(space) for space in starts]
        # Section 6: White may look at the board turned by half if lines and Stars then look like Black's.
        turned_lines = {frozenset(map(self.turned, line)) for line in self.lines}
        turned_stars = {self.turned(star): 1 - side for star, side in self.stars.items()}
        self.symmetric = self.lines == turned_lines and self.stars == turned_stars

    def index(self, space: Space) -> int:
        return self.width * space[1] + space[0]

    def turned(self, index: int) -> int:
        return self.size - 1 - index

    def neighbour(self, index: int, step: Space) -> int | None:
        """Return the space that a line joins to this one in the direction of `step`."""
        x, y = index % self.width + step[0], index // self.width + step[1]
        there = self.index((x, y))
        return there if 0 <= x < self.width and frozenset((index, there)) in self.lines else None


class Reference:
    num_actions = 12
    num_players = 2

    def __init__(self, key: Key, **config: Any) -> None:
        self.rules = StarsRules(**config)
        self.board = Board(**{**BOARD, **self.rules.board})
        self.deck = [Card(**card) for card in self.rules.deck]
        self.pos = list(self.board.starts)  # F2
        self.hand = [[1] * CARDS for _ in range(2)]  # F1, G7
        self.commit = [[-1] * PIECES for _ in range(2)]
        self.scored, self.points = [0] * PIECES, [0, 0]
        self.turn = self.hands = self.cursor = self.current_player = 0
        self.phase, self.mover, self.winner, self.truncated = COMMIT, -1, -1, False
        self.flip = draw(key, 0, 2) if self.rules.random_colours else 0  # section 5
        self.rewards = [0.0, 0.0]
        # The last action's card events that were not skipped: (piece, player, card, its path).
        self.events: list[tuple[int, int, int, list[int]]] = []

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> "Reference":
        game = cls(key, **config)
        for name in FIELDS:
            setattr(game, name, copied(state[name]))
        game.current_player, game.truncated = state["player"], state["truncated"] == 1
        return game

    def to_dict(self) -> dict[str, Any]:
        state = {name: copied(getattr(self, name)) for name in FIELDS}
        return {**state, "player": self.current_player, "truncated": int(self.truncated)}

    @property
    def terminated(self) -> bool:
        return self.winner >= 0

    def legal_actions(self) -> list[int]:
        """Return the legal actions (section 4.1)."""
        if self.phase == COMMIT:
            return [card for card in range(CARDS) if self.hand[self.current_player][card]]
        return [PRINTED, REVERSED] if self.phase == ORDER else []

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not among the legal {self.legal_actions()}")
        self.rewards, self.events = [0.0, 0.0], []
        if self.phase == ORDER:
            self.resolve(action)
            return
        placed = self.commit[self.current_player]
        placed[placed.index(-1)] = action  # F4: red, then blue, then yellow
        self.hand[self.current_player][action] = 0
        if -1 in placed:
            return
        if self.current_player == 0:
            self.current_player = 1
        else:
            self.resolve(None)

    def resolve(self, order: int | None) -> None:
        """Resolve the turn from the event at the cursor on; `order` answers its question (section 4.3)."""
        while self.cursor < EVENTS:
            if not self.card_event(order):
                return
            order = None
            self.cursor += 1
        self.end_turn()

    def card_event(self, order: int | None) -> bool:
        """Play the card at the cursor; return False if the game waits for an order or is over."""
        piece, second = divmod(self.cursor, 2)  # F5
        if not second:
            self.mover = -1
        numbers = [self.deck[placed[piece]].number for placed in self.commit]
        stopped = self.scored[piece] == 1 and self.rules.score_stops_piece  # G17
        if numbers[0] != numbers[1] and self.pos[piece] >= 0 and not stopped:  # F7, G20
            higher = int(numbers[1] > numbers[0])  # F6
            player = 1 - higher if second else higher
            card = self.commit[player][piece]
            if order is None and self.order_matters(piece, player, card):
                self.phase, self.current_player = ORDER, player  # F10, F22
                return False
            path = self.path(piece, player, card, order or PRINTED)
            self.events.append((piece, player, card, path))
            if len(path) > 1:  # G11
                self.pos[piece], self.mover = path[-1], player
                if self.rules.win_check == "card":
                    self.score(piece, player)  # F12, G8
        if second and self.rules.win_check == "piece" and self.mover >= 0:
            self.score(piece, self.mover)
        return self.phase != OVER  # G9

    def order_matters(self, piece: int, player: int, card: int) -> bool:
        ends = [self.path(piece, player, card, order)[-1] for order in (PRINTED, REVERSED)]
        return self.deck[card].either and (ends[0] != ends[1] or self.rules.ask_order == "always")  # G14

    def path(self, piece: int, player: int, card: int, order: int) -> list[int]:
        """Return the space of the piece and those that it enters, one after the other, by the card."""
        others = [space for other, space in enumerate(self.pos) if other != piece]
        parts, path = self.deck[card].parts, [self.pos[piece]]
        for direction, count in parts if order == PRINTED else reversed(parts):  # G15
            for _ in range(count):
                there = self.board.neighbour(path[-1], COMPASS[player ^ self.flip][direction])
                if there is None or there in others:  # F8, F9
                    break  # G16: on with the next part
                path.append(there)
        return path

    def score(self, piece: int, mover: int) -> None:
        if self.pos[piece] not in self.board.stars:
            return
        owner = self.board.stars[self.pos[piece]] ^ self.flip
        earner = {"any": mover, "own": owner, "opposite": 1 - owner}[self.rules.star_rule]  # F13
        if earner != mover and self.rules.star_credit == "mover":
            return  # G13
        self.points[earner] += 1
        self.scored[piece] = 1
        if self.points[earner] == self.rules.points_to_win:  # G21
            self.winner, self.phase = earner, OVER
            self.rewards = [1.0 if player == earner else -1.0 for player in range(2)]
        elif self.rules.reset_at_once:  # G18
            self.lift([piece])
            self.put_back([piece])

    def lift(self, pieces: list[int]) -> None:
        """Take pieces that have scored off the board, or with reset = all set up all three (G19)."""
        if pieces and self.rules.reset == "all":
            self.pos = list(self.board.starts)
        else:
            self.pos = [-1 if piece in pieces else space for piece, space in enumerate(self.pos)]

    def put_back(self, pieces: list[int]) -> None:
        """Return pieces out of play to their starts where these are vacant (F14)."""
        for piece in pieces:
            if self.pos[piece] == -1 and self.board.starts[piece] not in self.pos:
                self.pos[piece] = self.board.starts[piece]

    def end_turn(self) -> None:
        """End the turn (section 4.4)."""
        if not self.rules.reset_at_once:  # else done, once, when the piece scored
            self.lift([piece for piece in range(PIECES) if self.scored[piece]])
        self.put_back(list(range(PIECES)))
        self.scored, self.commit = [0] * PIECES, [[-1] * PIECES for _ in range(2)]
        self.phase, self.current_player, self.cursor, self.mover = COMMIT, 0, 0, -1
        self.turn += 1
        if self.turn == TURNS:  # F11
            self.turn, self.hand = 0, [[1] * CARDS for _ in range(2)]
            self.hands += 1
            if self.hands == self.rules.max_hands:  # G24
                self.phase, self.truncated = OVER, True

    def observation(self, player: int) -> list[float]:
        """Return the flat observation of section 6: the player's own side, without the opponent's face-down cards."""
        opponent, side = 1 - player, player ^ self.flip
        theirs, unplayed = list(self.commit[opponent]), list(self.hand[opponent])
        for piece in range(PIECES):
            revealed = self.phase != COMMIT and piece <= self.cursor // 2  # F5
            if theirs[piece] >= 0 and not revealed:
                unplayed[theirs[piece]], theirs[piece] = 1, -1
        turned = side == 1 and self.board.symmetric
        seen = [self.board.turned(space) if turned and space >= 0 else space for space in self.pos]
        mine = (COMMIT, ORDER)[self.phase] if self.phase != OVER and self.current_player == player else 2
        asked = self.cursor // 2 if self.phase == ORDER else -1
        parts: list[list[float]] = [
            *(one_hot(space if space >= 0 else self.board.size, self.board.size + 1) for space in seen),
            [float(card) for card in self.hand[player]],
            *(one_hot(card, CARDS) for card in self.commit[player]),
            [float(card) for card in unplayed],
            *(one_hot(card, CARDS) for card in theirs),
            one_hot(self.turn, TURNS),
            [float(scored) for scored in self.scored],
            one_hot(mine, 3),
            one_hot(asked, PIECES),
            [self.points[who] / self.rules.points_to_win for who in (player, opponent)],
            [float(side), self.hands / self.rules.max_hands],
        ]
        return [number for part in parts for number in part]

    def check(self, before: "Reference | None") -> None:
        """Assert the invariants of section 8; `before` is a copy from before the last action."""
        rules, board, player = self.rules, self.board, self.current_player
        in_play = [space for space in self.pos if space != -1]
        assert set(in_play) <= board.spaces and len(set(in_play)) == len(in_play), "I1"
        assert len(in_play) == PIECES or rules.points_to_win > 1, "I1"
        for hand, commit in zip(self.hand, self.commit, strict=True):
            placed = [card for card in commit if card >= 0]
            assert sum(hand) + len(placed) == CARDS - 3 * self.turn, "I2"
            assert not any(hand[card] for card in placed) and len(set(placed)) == len(placed), "I2"
        if self.phase == COMMIT:
            assert self.cursor == 0 and self.scored == [0] * PIECES, "I3"
            assert -1 not in self.commit[0] if player else self.commit[1] == [-1] * PIECES, "I3"
        if self.phase == COMMIT or self.truncated:
            assert self.mover == -1, "section 3: nothing is resolving"
        assert self.terminated + self.truncated == (self.phase == OVER), "I4"
        assert (self.phase == OVER) == (self.legal_actions() == []), "I4"
        for who, points in enumerate(self.points):
            assert points == rules.points_to_win if who == self.winner else points < rules.points_to_win, "I5"
        star_wins = rules.points_to_win == 1 and (rules.star_rule == "any" or rules.star_credit == "side")
        if star_wins and rules.win_check == "card" and self.phase != OVER:
            assert not (set(board.stars) - set(board.starts)) & set(in_play), "I6"
        if self.phase == ORDER:
            piece = self.cursor // 2
            assert self.order_matters(piece, player, self.commit[player][piece]), "I7"
        assert sum(self.rewards) == 0 and (self.terminated or not any(self.rewards)), "I13"
        if before is not None:
            self.check_moves(before)

    def check_moves(self, before: "Reference") -> None:
        """Assert I8 by playing the recorded paths again from the position before."""
        pos, scores = list(before.pos), self.points != before.points
        if scores and self.rules.reset_at_once:
            return  # pieces jump between two cards
        for piece, _, card, path in self.events:
            assert path[0] == pos[piece], "I8"
            assert len(path[1:]) <= sum(count for _, count in self.deck[card].parts), "I8"
            for there in path[1:]:
                assert frozenset((pos[piece], there)) in self.board.lines and there not in pos, "I8"
                pos[piece] = there
        turn_ended = self.commit[1] == [-1] * PIECES
        put_back = turn_ended and (scores or -1 in pos or 1 in before.scored)
        assert put_back or pos == self.pos, "I8"


def one_hot(index: int, length: int) -> list[float]:
    """Return a one-hot list, all zeros for an index of -1."""
    return [float(place == index) for place in range(length)]


def copied(value: Any) -> Any:
    return [copied(item) for item in value] if isinstance(value, list) else value

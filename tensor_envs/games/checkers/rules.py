"""English draughts: captures are compulsory, and a player without a move loses.

Rules and rulings: RULES.md beside this file. The 32 dark squares are the bits of a word, square 1 the lowest.
Dictionaries and symmetries are those of `Pieces` (D11, D14).
"""

from dataclasses import dataclass

from tensor_envs.rules import CORNERS, Grid
from tensor_envs.rules.pieces import ENEMY, Move, Pieces
from tensor_envs.rules.plain import check_fields

SIDE, SQUARES = 8, 32
DIRECTIONS = ("up-left", "up-right", "down-right", "down-left")
FORWARD = ((1, -1), (1, 1))


@dataclass(frozen=True)
class Checkers(Pieces):
    """Rule fields of English draughts (D13).

    Attributes:
        quiet_plies: plies without a capture or a man's step after which the game is drawn, 1..100.
    """

    quiet_plies: int = 80

    board = Grid(SIDE, SIDE)
    playable = tuple(cell for cell in range(SIDE**2) if (cell // SIDE + cell % SIDE) % 2)
    start = range(12), range(20, SQUARES)  # D1
    man = Move(FORWARD), Move(FORWARD, over=ENEMY, take=True)  # D2, D3
    king = Move(CORNERS), Move(CORNERS, over=ENEMY, take=True)
    promote = range(28, SQUARES), range(4)  # D5
    must_capture = again = True  # D3, D4
    no_move = "loss"  # D6
    set_shape = ()
    ways = ((-1, -1), (-1, 1), (1, 1), (1, -1))  # D8
    quiet_digits = 7  # D10
    title = "English draughts"
    sides = ("Black", "White")
    colours = ("#22262b", "#fafafa")

    def __post_init__(self) -> None:
        check_fields(self, quiet_plies=(1, 100))

    def name(self, place: int) -> str:
        """Return the number of a square, from 1."""
        return str(place + 1)

    def action_to_string(self, action: int) -> str:
        """Return both squares of a step, "11-15", or of a jump, "22x15" (D12)."""
        start, end = self.ends_of(action)
        hop, direction = divmod(action // SQUARES, len(self.ways))
        return f"{start + 1}{'-x'[hop]}{DIRECTIONS[direction] if end is None else end + 1}"

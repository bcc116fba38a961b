"""Numbers and tables of Three Will, plain Python. F and G numbers are those of RULES.md."""

from itertools import product

PLAYERS, SLOTS, AGENTS = 2, 8, 16  # F1; agent 8 * player + slot
SIDE, SQUARES = 8, 64  # square 8 * row + column
FACES, CES_CARDS = 6, 9  # F2

SET_UP = range(8, 16)  # F3, G3: the slots' squares, on the row next to the base, as their player sees them

MOVE, FREE, FMOVE, CHALLENGE, OVER = range(5)  # phases

OPTIONS = 3  # ways to follow a directive, at most; action OPTIONS * slot + option
PASS = OPTIONS * SLOTS
USE_FREE = PASS + 1
EXAMINE = USE_FREE + 1  # + slot of the declarer's agent
ACTIONS = EXAMINE + SLOTS

# What the die tells an agent to do, by face 1..6: options (forward, right) as the player sees the board.
Chart = tuple[tuple[tuple[int, int], ...], ...]
CHART: Chart = (  # F13, G1, G2
    ((1, 0),),  # 1 straight forward
    ((0, 1),),  # 2 straight right
    ((0, -1),),  # 3 straight left
    ((1, 1),),  # 4 diagonal right
    ((1, -1),),  # 5 diagonal left
    ((-1, 0), (-1, -1), (-1, 1)),  # 6 straight or diagonal back: the player chooses
)
STEPS = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]

# Counters of chance events (section 5).
NUMBER_KEYS = 0  # + agent: sort keys of the numbers
TOP_CARD, STARTER = 16, 17
DIRECTIVE, EXTRA_THROW = 64, 65  # + 2t: rolled in step t

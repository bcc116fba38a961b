"""Positions of liar's dice as text and as drawings."""

from typing import Any

from tensor_envs.games._kit import cards
from tensor_envs.games._kit.dice import PIPS, draw_die
from tensor_envs.games.liars_dice.notation import action_to_string
from tensor_envs.games.liars_dice.rules import LiarsDice
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.grids import SquareGrid
from tensor_envs.render.status import counted, seats, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile

HIDDEN = 0  # a die that a player does not see
# pixels
CELL = 38
BID = (46, 28)
LEFT = 30
MIN_WIDTH = 400
FOOT = 56
FACES = ("#fbf7ea", "#f6d186", "#f6b26b", "#e58e73", "#cc4125", "#8e7cc3", "#3d85c6", "#38761d")  # in small pictures


def is_over(rules: LiarsDice, game: dict[str, Any]) -> bool:
    """Return whether a bid has been called."""
    return game["history"][-1:] == [rules.bids]


def seen_by(rules: LiarsDice, game: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the game without what is hidden from a player: the others' dice until a call."""
    if is_over(rules, game):
        return game
    return game | {"dice": [dice if p == player else [HIDDEN] * rules.dice for p, dice in enumerate(game["dice"])]}


def result(rules: LiarsDice, game: dict[str, Any]) -> tuple[str, int]:
    """Return the dice that a call has shown, and the loser (L4)."""
    quantity, face = divmod(game["history"][-2], rules.sides)
    shown = sum(die in (face + 1, rules.sides) for dice in game["dice"] for die in dice)
    caller = (len(game["history"]) - 1) % rules.players
    loser = caller if shown > quantity else (caller - 1) % rules.players
    return f"{shown} of {quantity + 1} dice", loser


def status(rules: LiarsDice, game: dict[str, Any]) -> str:
    """Return the status: the player to move, or the loser."""
    if is_over(rules, game):
        shown, loser = result(rules, game)
        return f"{seats(rules.players)[loser]} loses: {shown}"
    return to_move(game, seats(rules.players)[len(game["history"]) % rules.players])


def to_string(rules: LiarsDice, game: dict[str, Any]) -> str:
    """Return the players' dice, the bids so far and the status."""
    named = zip(seats(rules.players), game["dice"], strict=True)
    hands = (f"{name}: {' '.join(str(die or '?') for die in dice)}" for name, dice in named)
    actions = ", ".join(action_to_string(rules, action) for action in game["history"])
    return "\n".join(["; ".join(hands), actions or "no bid yet", status(rules, game)])


def draw(rules: LiarsDice, game: dict[str, Any]) -> Drawing:
    """Draw the dice, and a button for each bid that is legal or was made, and for a call."""
    rows = rules.players * rules.dice
    top = 20 + rules.players * (CELL + 6)
    width = max(MIN_WIDTH, 2 * LEFT + 90 + rules.dice * CELL, 2 * LEFT + (rules.sides + 1) * BID[0])
    picture = Drawing(width, top + rows * BID[1] + FOOT, cards.CLOTH, title="Liar's dice")
    # A row of dice for each seat; hidden dice show their backs.
    for player, (name, dice) in enumerate(zip(seats(rules.players), game["dice"], strict=True)):
        grid = SquareGrid(LEFT + 90, 14 + player * (CELL + 6), CELL)
        picture.text((LEFT + 35, grid.centre(0, 0)[1]), name, 14, cards.PALE)
        for k, die in enumerate(dice):
            x, y = grid.centre(0, k)
            if die in PIPS:
                draw_die(picture, (x, y), die, 32)
            else:
                picture.rect(x - 16, y - 16, 32, 32, cards.FACE if die else cards.BACK, cards.INK)
                picture.text((x, y), str(die or "?"), 18, cards.INK, bold=True)
    over = is_over(rules, game) or game.get("terminated")
    # Bids ascend, so the highest bid of the history is the last one, and only calls need it to exist.
    highest = max(game["history"], default=-1)
    for action in range(rules.bids + 1):
        row, column = (0, rules.sides) if action == rules.bids else divmod(action, rules.sides)
        x = LEFT + column * BID[0]
        y = top + row * BID[1]
        legal = not over and (highest >= 0 if action == rules.bids else action > highest)
        # Bids that were passed over are not drawn, so the history can be read off the buttons.
        if legal or action in game["history"]:
            picture.rect(x + 1, y + 1, BID[0] - 2, BID[1] - 2, cards.FACE if legal else cards.CHIP, cards.INK)
            picture.text((x + BID[0] / 2, y + BID[1] / 2), action_to_string(rules, action), 12, cards.INK)
        if legal:
            picture.area(box(x, y, *BID), action)
    picture.text((width / 2, picture.height - 26), status(rules, game), 14, cards.PALE, bold=True)
    return picture


def reason(rules: LiarsDice, game: dict[str, Any]) -> str:
    """Return the bid, and the number of dice with its face or the wild one."""
    shown = result(rules, game)[0].partition(" ")[0]
    bid = action_to_string(rules, game["history"][-2])
    return f"the bid was {bid}, and {counted(int(shown), 'die', 'dice')} showed it"


def explain(rules: LiarsDice, game: dict[str, Any], action: int) -> str:
    """Return the claim of a bid (L3)."""
    quantity, face = divmod(action, rules.sides)
    if action == rules.bids:
        return "call the last bid a lie"
    wild = "" if face == rules.sides - 1 else f" or {rules.sides}"
    return f"at least {quantity + 1} of {rules.players * rules.dice} dice show {face + 1}{wild}"


def tile(rules: LiarsDice) -> Tile:
    """Return the dice of each player as a small picture."""
    colours = FACES[: 1 << (rules.sides - 1).bit_length()]
    return Tile(rules.dice, ([Pixel(colours, (StateBits("dice", die),)) for die in range(rules.players * rules.dice)],))

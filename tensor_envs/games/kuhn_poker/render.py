"""Positions of Kuhn poker as text and as drawings."""

from typing import Any

from tensor_envs.games._kit import cards
from tensor_envs.games.kuhn_poker.notation import ENDED, NAMES
from tensor_envs.games.kuhn_poker.rules import BET, PASS, KuhnPoker
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.status import seats, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile

WIDTH, HEIGHT = 420, 236  # pixels
RANK_COLOURS = ("#9fc5e8", "#f6b26b", "#cc4125")  # cards in the small picture


def seen_by(rules: KuhnPoker, game: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the game without what is hidden from a player: the opponent's card is -1 until both are shown (K5)."""
    if game["history"] in ENDED and game["history"][-2:] != [BET, PASS]:
        return game
    return game | {"cards": [card if p == player else cards.HIDDEN for p, card in enumerate(game["cards"])]}


def status(game: dict[str, Any]) -> str:
    """Return the status: the player to move, or the winner and the amount."""
    history = game["history"]
    first, second = game["cards"]
    names = seats(2)
    if history not in ENDED:
        return to_move(game, names[len(history) % 2])
    if history[-2:] == [BET, PASS]:
        return f"{names[len(history) % 2]} wins 1: the other has passed"
    return f"{names[second > first]} wins {1 + history.count(BET) // 2} with the higher card"


def texts(game: dict[str, Any]) -> tuple[list[str], str, int]:
    """Return the letter of each card, the actions so far, and the pot."""
    letters = ["?" if card == cards.HIDDEN else "JQK"[card] for card in game["cards"]]
    actions = ", ".join(NAMES[action] for action in game["history"])
    return letters, actions or "no action yet", 2 + game["history"].count(BET)


def to_string(rules: KuhnPoker, game: dict[str, Any]) -> str:
    """Return the cards, the actions so far and the status."""
    letters, actions, pot = texts(game)
    hands = " ".join(f"{name}: {letter}" for name, letter in zip(seats(2), letters, strict=True))
    return f"{hands}; the pot is {pot}\n{actions}\n{status(game)}"


def draw(rules: KuhnPoker, game: dict[str, Any]) -> Drawing:
    """Draw both cards, the pot, and a button for each action."""
    picture = Drawing(WIDTH, HEIGHT, cards.CLOTH, title="Kuhn poker")
    letters, actions, pot = texts(game)
    for player, (name, letter) in enumerate(zip(seats(2), letters, strict=True)):
        x = 60 + player * (WIDTH - 120 - cards.CARD[0])
        cards.draw_card(picture, x, name, letter, letter == "?", 34, cards.INK)
    cards.draw_chip(picture, WIDTH / 2, 66, 18, pot)
    picture.text((WIDTH / 2, 104), actions, 13, cards.PALE)
    picture.text((WIDTH / 2, 146), status(game), 14, cards.PALE, bold=True)
    if game["history"] not in ENDED and not game.get("terminated"):
        cards.draw_buttons(picture, NAMES, (PASS, BET), 172, 16)
    return picture


def scores(rules: KuhnPoker, game: dict[str, Any]) -> list[str]:
    """Return the stake of each player."""
    history = game["history"]
    return [f"{1 + history[player::2].count(BET)} in the pot" for player in (0, 1)]


def reason(rules: KuhnPoker, game: dict[str, Any]) -> str:
    """Return why a player has won (K4)."""
    return "the other has folded" if game["history"][-2:] == [BET, PASS] else "the higher card"


def explain(rules: KuhnPoker, game: dict[str, Any], action: int) -> str:
    """Return the effect of a pass or a bet (K2)."""
    if BET in game["history"]:
        return "call: put 1 into the pot, and show" if action == BET else "fold, and lose 1"
    return "put 1 into the pot" if action == BET else "put in nothing"


def tile(rules: KuhnPoker) -> Tile:
    """Return the cards as a small picture, the pot between them: a chip for every bet, the antes below."""
    cloth = Pixel((cards.CLOTH,))
    chip = Pixel((cards.CHIP,))
    first, second = (Pixel(RANK_COLOURS, (StateBits("cards", player),)) for player in (0, 1))
    bets = [
        Pixel(tuple(cards.CHIP if key.bit_count() > k else cards.CLOTH for key in range(8)), (StateBits("bets"),))
        for k in (1, 0)
    ]
    return Tile(3, ([first, bets[0], second, cloth, bets[1], cloth, cloth, chip, cloth],))

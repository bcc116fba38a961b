"""Positions of Leduc poker as text and as drawings."""

from typing import Any

from tensor_envs.games._kit import cards, poker
from tensor_envs.games.leduc_poker.notation import NAMES
from tensor_envs.games.leduc_poker.rules import CALL, FOLD, LeducPoker
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.status import outcome, seats, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions

# in pixels
WIDTH = 460
HEIGHT = 262
RED = "#b3261e"  # colour of hearts
RANK_COLOURS = ("#9fc5e8", "#f6b26b", "#cc4125")  # cards in the small picture

scores = poker.scores


def seen_by(rules: LeducPoker, game: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the game without what is hidden from a player: the opponent's card until the end, the public card (L6)."""
    s = poker.betting(rules, game["history"])
    hands = list(game["cards"])
    if not s["terminated"] or game["history"][-1] == FOLD:
        hands[1 - player] = cards.HIDDEN
    return game | {"cards": hands, "public": game["public"] if s["round"] else cards.HIDDEN}


def status(rules: LeducPoker, game: dict[str, Any]) -> str:
    """Return the status: the player to move, or the winner and the amount."""
    s = poker.betting(rules, game["history"])
    names = seats(2)
    player = s["current_player"]
    stake = min(s["bets"])
    if not s["terminated"]:
        return to_move(game, names[player])
    if game["history"][-1] == FOLD:
        return f"{names[player]} wins {stake}: the other has folded"
    ranks = [3 if card // 2 == game["public"] // 2 else card // 2 for card in game["cards"]]
    if ranks[0] == ranks[1]:
        return outcome(names, None, "equal cards")
    best = "a pair" if max(ranks) == 3 else "the higher card"
    return f"{names[ranks[1] > ranks[0]]} wins {stake} with {best}"


def lines_of(rules: LeducPoker, game: dict[str, Any]) -> list[str]:
    """Return a line for each round: its number and its actions."""
    actions = poker.rounds(rules, game["history"], "round", lambda before, after, action: NAMES[action])
    lines = [f"round {number}: {', '.join(names)}" for number, names in enumerate(actions, 1) if names]
    return lines or ["round 1"]


def cards_of(rules: LeducPoker, game: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return each card's text and whether it is red, by its place; the public card is hidden in the first round."""
    first, second = game["cards"]
    near, far = seats(2)
    public = game["public"] if poker.betting(rules, game["history"])["round"] else cards.HIDDEN
    return {
        place: ("?", False) if card == cards.HIDDEN else ("JQK"[card // 2] + "sh"[card % 2], card % 2 == 1)
        for place, card in ((near, first), ("public", public), (far, second))
    }


def to_string(rules: LeducPoker, game: dict[str, Any]) -> str:
    """Return the cards and bets, the actions by rounds, and the status."""
    bets = poker.betting(rules, game["history"])["bets"]
    texts = " ".join(f"{place}: {text}" for place, (text, _) in cards_of(rules, game).items())
    return "\n".join([f"{texts}; bets {bets[0]} and {bets[1]}", *lines_of(rules, game), status(rules, game)])


def draw(rules: LeducPoker, game: dict[str, Any]) -> Drawing:
    """Draw the cards, the bet of each player, and a button for each legal action."""
    picture = Drawing(WIDTH, HEIGHT, cards.CLOTH, title="Leduc poker")
    s = poker.betting(rules, game["history"])
    for k, (place, (text, red)) in enumerate(cards_of(rules, game).items()):
        x = 40 + k * (WIDTH - 80 - cards.CARD[0]) / 2
        cards.draw_card(picture, x, place, text, text == "?", 28, RED if red else cards.INK)
    for player, bet in enumerate(s["bets"]):
        cards.draw_chip(picture, 40 + cards.CARD[0] + 30 + player * (WIDTH - 140 - 2 * cards.CARD[0]), 79, 17, bet)
    cards.draw_lines(picture, lines_of(rules, game), 144, 18)
    picture.text((WIDTH / 2, 184), status(rules, game), 14, cards.PALE, bold=True)
    cards.draw_buttons(picture, NAMES, open_actions(rules, game, s), 204, 12)
    return picture


def reason(rules: LeducPoker, game: dict[str, Any]) -> str:
    """Return why a player has won, or that it is a draw (L5)."""
    if game["history"][-1:] == [FOLD]:
        return "the other has folded"
    return status(rules, game).partition(" with ")[2] or "equal cards"


def explain(rules: LeducPoker, game: dict[str, Any], action: int) -> str:
    """Return the price of an action (L3)."""
    s = poker.betting(rules, game["history"])
    owed = max(s["bets"]) - s["bets"][s["current_player"]]
    if action == FOLD:
        return f"lose the {s['bets'][s['current_player']]} that you have put in"
    if action == CALL:
        return f"put in {owed}, as much as the other player" if owed else "put in nothing"
    return f"put in {owed + 2 * (1 + s['round'])}"


def tile(rules: LeducPoker) -> Tile:
    """Return the cards as a small picture, the public one in the middle; below them a chip for every three of a bet."""
    by_card = tuple(RANK_COLOURS[card // 2 % 3] for card in range(8))
    public = Pixel((cards.BACK,) * 8 + by_card, (StateBits("public"), StateBits("round")))
    first, second = (Pixel(by_card, (StateBits("cards", player),)) for player in (0, 1))
    pixels = [first, public, second]
    for k in (4, 3, 2, 1, 0):
        chips = tuple(cards.CHIP if bet > 3 * k else cards.CLOTH for bet in range(16))
        pixels += [Pixel(chips, (StateBits("bets", 0),)), Pixel((cards.CLOTH,)), Pixel(chips, (StateBits("bets", 1),))]
    return Tile(3, (pixels,))

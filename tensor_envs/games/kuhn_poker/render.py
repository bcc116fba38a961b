"""Positions of Kuhn poker as text and as drawings."""

from typing import Any

from tensor_envs.games.kuhn_poker.notation import ENDED, NAMES
from tensor_envs.games.kuhn_poker.rules import BET, PASS, KuhnPoker
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.tile import Pixel, StateBits, Tile

RANKS = "JQK"
HIDDEN = -1
RANK_COLOURS = ("#9fc5e8", "#f6b26b", "#cc4125")  # of cards in the small picture
WIDTH, HEIGHT, CARD, BUTTON = 420, 230, (64, 90), (90, 34)  # pixels
CLOTH, FACE, BACK, INK, PALE, CHIP = "#24573f", "#fbf7ea", "#7c93b8", "#1d1d1f", "#eef4f0", "#f4c95d"


def seen_by(rules: KuhnPoker, game: dict[str, Any], player: int) -> dict[str, Any]:
    """The game as a player knows it: the other's card is -1 until both are shown (K5)."""
    if game["history"] in ENDED and game["history"][-2:] != [BET, PASS]:
        return game
    return game | {"cards": [card if p == player else HIDDEN for p, card in enumerate(game["cards"])]}


def status(game: dict[str, Any]) -> str:
    """Who is to move, or who gets what."""
    history, cards = game["history"], game["cards"]
    if history not in ENDED:
        player = len(history) % 2
        return f"player {player} {'has made an illegal action' if game.get('terminated') else 'to move'}"
    if history[-2:] == [BET, PASS]:
        return f"player {len(history) % 2} wins 1: the other has passed"
    return f"player {int(cards[1] > cards[0])} wins {1 + history.count(BET) // 2} with the higher card"


def letter(card: int) -> str:
    return "?" if card == HIDDEN else RANKS[card]


def told(history: list[int]) -> str:
    """The actions so far."""
    return ", ".join(NAMES[action] for action in history) or "no action yet"


def pot(game: dict[str, Any]) -> str:
    return f"the pot is {2 + game['history'].count(BET)}"


def to_string(rules: KuhnPoker, game: dict[str, Any]) -> str:
    """The cards, the actions so far, and how the game stands."""
    cards = " ".join(f"player {player}: {letter(card)}" for player, card in enumerate(game["cards"]))
    return "\n".join([f"{cards}; {pot(game)}", told(game["history"]), status(game)])


def to_svg(rules: KuhnPoker, game: dict[str, Any]) -> str:
    """The drawing as an SVG document."""
    return draw(rules, game).to_svg()


def draw(rules: KuhnPoker, game: dict[str, Any]) -> Drawing:
    """Both cards, the pot, and a button for each action."""
    picture = Drawing(WIDTH, HEIGHT, CLOTH)
    for player, card in enumerate(game["cards"]):
        x = 60 + player * (WIDTH - 120 - CARD[0])
        picture.text((x + CARD[0] / 2, 20), f"player {player}", 13, PALE)
        picture.rect(x, 34, *CARD, BACK if card == HIDDEN else FACE, INK)
        picture.text((x + CARD[0] / 2, 34 + CARD[1] / 2), letter(card), 34, INK, bold=True)
    picture.circle((WIDTH / 2, 66), 18, CHIP, INK)
    picture.text((WIDTH / 2, 66), str(2 + game["history"].count(BET)), 15, INK, bold=True)
    picture.text((WIDTH / 2, 104), told(game["history"]), 13, PALE)
    picture.text((WIDTH / 2, 146), status(game), 14, PALE, bold=True)
    if game["history"] not in ENDED and not game.get("terminated"):
        for action, name in enumerate(NAMES):
            x = WIDTH // 2 + (action - 1) * (BUTTON[0] + 16) + 8
            picture.rect(x, 172, *BUTTON, FACE, INK)
            picture.text((x + BUTTON[0] / 2, 172 + BUTTON[1] / 2), name, 14, INK)
            picture.area(box(x, 172, *BUTTON), action)
    return picture


def tile(rules: KuhnPoker) -> Tile:
    """Return the cards as a small picture, the pot between them: a chip for every bet, the antes below."""
    cloth, chip = Pixel((CLOTH,)), Pixel((CHIP,))
    first, second = (Pixel(RANK_COLOURS, (StateBits("cards", player),)) for player in (0, 1))
    bets = [
        Pixel(tuple(CHIP if key.bit_count() > k else CLOTH for key in range(8)), (StateBits("bets"),))
        for k in (1, 0)
    ]
    return Tile(3, ([first, bets[0], second, cloth, bets[1], cloth, cloth, chip, cloth],))

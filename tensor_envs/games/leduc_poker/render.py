"""Positions of Leduc poker as text and as drawings."""

from typing import Any

from tensor_envs.games.leduc_poker.notation import NAMES, from_dict
from tensor_envs.games.leduc_poker.rules import CALL, FOLD, RAISE, RAISES, LeducPoker
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.tile import Pixel, StateBits, Tile

HIDDEN = -1
RANK_COLOURS = ("#9fc5e8", "#f6b26b", "#cc4125")  # of cards in the small picture
WIDTH, HEIGHT, CARD, BUTTON = 460, 250, (64, 90), (90, 34)  # pixels
CLOTH, FACE, BACK, INK, RED, PALE, CHIP = (
    "#24573f", "#fbf7ea", "#7c93b8", "#1d1d1f", "#b3261e", "#eef4f0", "#f4c95d"
)  # fmt: skip


def seen_by(rules: LeducPoker, game: dict[str, Any], player: int) -> dict[str, Any]:
    """The game as a player knows it: -1 for the other's card until both are shown, and for a public card face down."""
    s, cards = table(rules, game), list(game["cards"])
    if not s["terminated"] or game["history"][-1] == FOLD:
        cards[1 - player] = HIDDEN
    return game | {"cards": cards, "public": game["public"] if s["round"] else HIDDEN}


def table(rules: LeducPoker, game: dict[str, Any]) -> dict[str, Any]:
    """What the actions have led to: bets, round, player to move, end. It does not depend on the cards."""
    return from_dict(rules, game | {"cards": [0, 2], "public": 4})


def status(rules: LeducPoker, game: dict[str, Any]) -> str:
    """Who is to move, or who gets what."""
    s = table(rules, game)
    player, stake = s["current_player"], min(s["bets"])
    if not s["terminated"]:
        ended = game.get("terminated")
        return f"player {player} has made an illegal action" if ended else f"player {player} to move"
    if game["history"][-1] == FOLD:
        return f"player {player} wins {stake}: the other has folded"
    ranks = [3 if card // 2 == game["public"] // 2 else card // 2 for card in game["cards"]]
    if ranks[0] == ranks[1]:
        return "equal cards: a draw"
    best = "a pair" if max(ranks) == 3 else "the higher card"
    return f"player {int(ranks[1] > ranks[0])} wins {stake} with {best}"


def letter(card: int) -> str:
    """A card's rank and suit."""
    return "?" if card == HIDDEN else "JQK"[card // 2] + "sh"[card % 2]


def rounds(game: dict[str, Any]) -> list[str]:
    """The actions of each round, its name before them."""
    history, found, first = game["history"], list[str](), 0
    for i, action in enumerate(history):
        if action == FOLD or i + 1 == len(history) or (action == CALL and i > first):
            found.append(", ".join(NAMES[a] for a in history[first : i + 1]))
            first = i + 1
    return [f"round {number}: {actions}" for number, actions in enumerate(found, 1)] or ["round 1"]


def shown_cards(rules: LeducPoker, game: dict[str, Any]) -> dict[str, int]:
    """The cards by their places; the public one lies face down in the first round."""
    first, second = game["cards"]
    public = game["public"] if table(rules, game)["round"] else HIDDEN
    return {"player 0": first, "public": public, "player 1": second}


def to_string(rules: LeducPoker, game: dict[str, Any]) -> str:
    """The cards, bets, actions by rounds, and how the game stands."""
    bets = table(rules, game)["bets"]
    cards = " ".join(f"{place}: {letter(card)}" for place, card in shown_cards(rules, game).items())
    return "\n".join([f"{cards}; bets {bets[0]} and {bets[1]}", *rounds(game), status(rules, game)])


def to_svg(rules: LeducPoker, game: dict[str, Any]) -> str:
    """The drawing as an SVG document."""
    return draw(rules, game).to_svg()


def draw(rules: LeducPoker, game: dict[str, Any]) -> Drawing:
    """The cards, both players' bets, and a button for each legal action."""
    picture, s = Drawing(WIDTH, HEIGHT, CLOTH), table(rules, game)
    for k, (place, card) in enumerate(shown_cards(rules, game).items()):
        x = 40 + k * (WIDTH - 80 - CARD[0]) / 2
        picture.text((x + CARD[0] / 2, 20), place, 13, PALE)
        picture.rect(x, 34, *CARD, BACK if card == HIDDEN else FACE, INK)
        colour = RED if card != HIDDEN and card % 2 else INK
        picture.text((x + CARD[0] / 2, 34 + CARD[1] / 2), letter(card), 28, colour, bold=True)
    for player, bet in enumerate(s["bets"]):
        x = 40 + CARD[0] + 30 + player * (WIDTH - 140 - 2 * CARD[0])
        picture.circle((x, 79), 17, CHIP, INK)
        picture.text((x, 79), str(bet), 14, INK, bold=True)
    for k, line in enumerate(rounds(game)):
        picture.text((WIDTH / 2, 144 + 18 * k), line, 12, PALE)
    picture.text((WIDTH / 2, 184), status(rules, game), 14, PALE, bold=True)
    if not s["terminated"] and not game.get("terminated"):
        legal = {FOLD: s["bets"][0] != s["bets"][1], CALL: True, RAISE: s["raises"] < RAISES}
        for action in (action for action in legal if legal[action]):
            x = WIDTH / 2 + (action - 1.5) * (BUTTON[0] + 12) + 6
            picture.rect(x, 204, *BUTTON, FACE, INK)
            picture.text((x + BUTTON[0] / 2, 204 + BUTTON[1] / 2), NAMES[action], 14, INK)
            picture.area(box(x, 204, *BUTTON), action)
    return picture


def tile(rules: LeducPoker) -> Tile:
    """Return the cards as a small picture, the public one in the middle; below them a chip for every three of a bet."""
    by_card = tuple(RANK_COLOURS[card // 2 % 3] for card in range(8))
    public = Pixel((BACK,) * 8 + by_card, (StateBits("public"), StateBits("round")))
    first, second = (Pixel(by_card, (StateBits("cards", player),)) for player in (0, 1))
    pixels = [first, public, second]
    for k in (4, 3, 2, 1, 0):
        chips = tuple(CHIP if bet > 3 * k else CLOTH for bet in range(16))
        pixels += [
            Pixel(chips, (StateBits("bets", 0),)),
            Pixel((CLOTH,)),
            Pixel(chips, (StateBits("bets", 1),)),
        ]
    return Tile(3, (pixels,))

"""Text and SVG pictures of Shed: a row of cards for every place."""

from typing import Any

from tensor_envs.games.shed.rules import Shed
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.status import seats
from tensor_envs.render.tile import Pixel, StateBits, Tile

# in pixels
CARD = (30, 42)
GAP = 5  # between cards
LEFT = 132  # width of the names
MARGIN = 14
TABLE = "#2f6b4f"
CLOTH = "#3a7d5d"
INK = "#1d1d1f"
PALE = "#dfeee6"
NAMES = seats(2)
FACES = {NAMES[0]: "#fbf7ea", "pile": "#f4c95d", "talon": "#cfd8dc", NAMES[1]: "#e6f0ff"}


def _places(game: dict[str, Any]) -> dict[str, list[int]]:
    """Return the cards of each hand, of the pile and of the talon, by name."""
    hands = game["hands"]
    return dict(zip(FACES, (hands[0], game["pile"], game["talon"], hands[1]), strict=True))


def _labels(rules: Shed, game: dict[str, Any], mark: str = "") -> dict[str, str]:
    """Return the label of the player to move or, at the end, of the loser (F4). A draw has none (G1)."""
    current = game["current_player"]
    if len(game["hands"][1 - current]) == rules.cards:
        return {NAMES[1 - current]: f"{NAMES[1 - current]} lost"}
    if game.get("truncated"):
        return {}
    return {NAMES[current]: f"{NAMES[current]}{' lost' if game.get('terminated') else mark}"}


def to_string(rules: Shed, game: dict[str, Any]) -> str:
    """Return a line for each place, every card in the column of its number; * marks the player to move."""
    labels = _labels(rules, game, " *")
    width = len(str(rules.cards)) + 1
    lines = []
    for name, cards in _places(game).items():
        columns = (str(c) if c in cards else "." for c in range(1, rules.cards + 1))
        lines.append(f"{labels.get(name, name):<13}" + "".join(f"{column:>{width}}" for column in columns))
    return "\n".join(lines)


def draw(rules: Shed, game: dict[str, Any]) -> Drawing:
    """Draw a row for each place, every card in the column of its number, so that it moves up and down only."""
    labels = _labels(rules, game)
    places = _places(game)
    playable = {*game["hands"][game["current_player"]], *game["talon"]}
    step = CARD[0] + GAP
    width = 2 * MARGIN + LEFT + rules.cards * step
    row = CARD[1] + 3 * GAP
    picture = Drawing(width, 2 * MARGIN + 4 * row, TABLE, title="Shed")
    for i, (name, cards) in enumerate(places.items()):
        top = MARGIN + i * row
        picture.rect(MARGIN, top, width - 2 * MARGIN, row - GAP, CLOTH)
        middle = top + (row - GAP) / 2
        if name in labels:
            x = MARGIN + 10
            picture.polygon([(x, middle - 6), (x + 10, middle), (x, middle + 6)], "#ffffff")
        label = labels.get(name, name)
        picture.text((MARGIN + 28, middle), label, 15, "#ffffff", "start", bold=name in labels)
        for card in range(1, rules.cards + 1):
            x = MARGIN + LEFT + (card - 1) * step
            y = top + GAP
            if card not in cards:
                picture.circle((x + CARD[0] / 2, middle), 1.5, PALE, opacity=0.5)
                continue
            picture.rect(x, y, *CARD, fill=FACES[name], stroke=INK)
            picture.text((x + CARD[0] / 2, middle), str(card), 17, INK, bold=True)
            if name == "pile" or card in playable:
                picture.area(box(x - GAP / 2, y, step, CARD[1]), rules.cards if name == "pile" else card - 1)
    return picture


def scores(rules: Shed, game: dict[str, Any]) -> list[str]:
    """Return the number of cards in each hand."""
    return [f"{len(hand)} of {rules.cards} cards" for hand in game["hands"]]


def reason(rules: Shed, game: dict[str, Any]) -> str:
    """Return why the game has ended (F4, G1)."""
    return "the loser holds all cards" if any(len(hand) == rules.cards for hand in game["hands"]) else ""


def explain(rules: Shed, game: dict[str, Any], action: int) -> str:
    """Return the place that a card comes from, or the cards that are picked up."""
    if action == rules.cards:
        return f"take the whole pile into your hand: {', '.join(map(str, game['pile']))}"
    return f"play it from the {'talon' if action + 1 in game['talon'] else 'hand'}"


def tile(rules: Shed) -> Tile:
    """Return the places of the cards as a small picture, a row for each."""
    pixels = []
    for name, face in FACES.items():
        for card in range(rules.cards):
            colours = []
            for key in range(16):
                own, other, pile, player = (key >> i & 1 for i in range(4))
                hands = (other, own) if player else (own, other)
                shown = dict(zip(FACES, (hands[0], pile, not (own or other or pile), hands[1]), strict=True))
                colours.append(face if shown[name] else CLOTH)
            sets = [StateBits(field, 0, card, 1) for field in ("own", "other", "pile")]
            pixels.append(Pixel(tuple(colours), (*sets, StateBits("current_player"))))
    return Tile(rules.cards, (pixels,))

"""Tables of card games: cards, chips, lines of text and the actions' buttons."""

from collections.abc import Iterable, Sequence

from tensor_envs.render.drawing import Drawing, box

HIDDEN = -1  # a card whose face a player does not see
CARD, BUTTON = (64, 90), (90, 44)  # pixels
CLOTH = "#24573f"
FACE = "#fbf7ea"
BACK = "#7c93b8"
INK = "#1d1d1f"
PALE = "#eef4f0"
CHIP = "#f4c95d"
SUIT_COLOURS = {"c": "#38761d", "d": "#1c6fb8", "h": "#b3261e", "s": INK}


def draw_card(picture: Drawing, x: float, title: str, text: str, hidden: bool, size: float, colour: str) -> None:
    """Draw a card below its title."""
    middle = x + CARD[0] / 2
    picture.text((middle, 20), title, 13, PALE)
    picture.rect(x, 34, *CARD, BACK if hidden else FACE, INK)
    picture.text((middle, 34 + CARD[1] / 2), text, size, colour, bold=True)


def draw_chip(picture: Drawing, x: float, y: float, radius: float, amount: int) -> None:
    """Draw a chip with an amount on it."""
    picture.circle((x, y), radius, CHIP, INK)
    picture.text((x, y), str(amount), radius - 3, INK, bold=True)


def draw_lines(picture: Drawing, lines: Iterable[str], top: float, step: float, size: float = 12) -> None:
    """Draw lines of text in the middle of the picture, one below the other."""
    for k, line in enumerate(lines):
        picture.text((picture.width / 2, top + step * k), line, size, PALE)


def draw_buttons(picture: Drawing, names: Sequence[str], actions: Iterable[int], y: float, gap: float) -> None:
    """Draw a button for each legal action, at its fixed place in the row of all actions."""
    for action in actions:
        x = picture.width / 2 + (action - len(names) / 2) * (BUTTON[0] + gap) + gap / 2
        picture.rect(x, y, *BUTTON, FACE, INK)
        words = names[action].split()
        for k, word in enumerate(words):  # each on a line of its own
            picture.text((x + BUTTON[0] / 2, y + BUTTON[1] / 2 + 20 * (k - (len(words) - 1) / 2)), word, 14, INK)
        picture.area(box(x, y, *BUTTON), action)

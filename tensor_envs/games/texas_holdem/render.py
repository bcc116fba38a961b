"""Positions of Texas hold'em as text and as drawings."""

from typing import Any

from tensor_envs.games._kit import cards
from tensor_envs.games.texas_holdem.hands import CATEGORIES, RANKS, strength
from tensor_envs.games.texas_holdem.notation import SUIT_NAMES, action_to_string, betting, card_name
from tensor_envs.games.texas_holdem.rules import FOLD, RAISE, TexasHoldem
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.status import outcome, seats, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules import int32
from tensor_envs.rules.plain import open_actions

# pixels
HEIGHT = 300
LEFT = 24
STEP = cards.CARD[0] + 6
GAP = 14
STREETS = {0: "preflop", 3: "flop", 4: "turn", 5: "river"}  # by the number of open cards
SUIT_COLOURS = ("#38761d", "#1c6fb8", "#b3261e", cards.INK)  # of clubs, diamonds, hearts, spades


def positions(rules: TexasHoldem, game: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the betting before each action and after the last one; it does not depend on the cards."""
    history = tuple(game["history"])
    return [betting(rules, history[:ply]) for ply in range(len(history) + 1)]


def seen_by(rules: TexasHoldem, game: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the game without what is hidden from a player: the closed board, the opponent's hand until the end."""
    s = positions(rules, game)[-1]
    hands = list(game["hands"])
    if not s["terminated"] or game["history"][-1] == FOLD:
        hands[1 - player] = [cards.HIDDEN] * rules.hole_cards
    is_open = sum(rules.streets[: s["street"] + 1])
    return game | {"hands": hands, "board": game["board"][:is_open] + [cards.HIDDEN] * (rules.board_cards - is_open)}


def result(rules: TexasHoldem, game: dict[str, Any]) -> tuple[int | None, str]:
    """Return the winner, None if the pot is shared, and why (T7 to T9)."""
    if game["history"][-1] == FOLD:
        return positions(rules, game)[-1]["current_player"], "the other has folded"
    hands = [[int32(card) for card in (*hand, *game["board"])] for hand in game["hands"]]
    first, second = (int(strength(hand, rules.ranks, rules.suits).value) for hand in hands)
    names = [CATEGORIES[value >> 2 * RANKS] for value in (first, second)]
    if first == second:
        return None, f"equal hands, {names[0]}"
    winner = int(second > first)
    return winner, f"the better {names[0]}" if names[0] == names[1] else names[winner]


def status(rules: TexasHoldem, game: dict[str, Any]) -> str:
    """Return the status: the player to move, or the winner, the chips and the hand."""
    s = positions(rules, game)[-1]
    names = seats(2)
    if not s["terminated"]:
        return to_move(game, names[s["current_player"]])
    winner, why = result(rules, game)
    return outcome(names, None, why) if winner is None else f"{names[winner]} wins {min(s['bets'])}: {why}"


def priced(rules: TexasHoldem, before: dict[str, Any], after: dict[str, Any], action: int) -> str:
    """Return an action with its chips, those of a raise in the whole game: "call 2", "raise to 6", "all-in: 200"."""
    player = before["current_player"]
    bet = after["bets"][player]
    if action < RAISE:
        put_in = bet - before["bets"][player]
        return "fold" if action == FOLD else f"call {put_in}" if put_in else "check"
    return f"all-in: {bet}" if bet == rules.stacks[player] else f"raise to {bet}"


def rounds(rules: TexasHoldem, game: dict[str, Any]) -> list[str]:
    """Return a line for each street: its name and its actions."""
    before = positions(rules, game)
    lines = list[str]()
    for street in range(before[-1]["street"] + 1):
        moves = zip(before, before[1:], game["history"], strict=False)
        actions = [priced(rules, s, after, action) for s, after, action in moves if s["street"] == street]
        is_open = sum(rules.streets[: street + 1])
        lines.append(f"{STREETS.get(is_open, f'street {street + 1}')}: {', '.join(actions) or '-'}")
    return lines


def rows(rules: TexasHoldem, game: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the names of the cards in each hand and on the board between them; a hidden one is "?"."""
    first, second = game["hands"]
    board = seen_by(rules, game, 0)["board"]
    near, far = seats(2)
    return [
        (title, ["?" if card == cards.HIDDEN else card_name(rules, card) for card in row])
        for title, row in ((near, first), ("board", board), (far, second))
    ]


def to_string(rules: TexasHoldem, game: dict[str, Any]) -> str:
    """Return the hands, the open board and the chips in the pot, the actions by streets, and the status."""
    first, second = positions(rules, game)[-1]["bets"]
    table = "; ".join(f"{title}: {' '.join(row) or 'none'}" for title, row in rows(rules, game))
    return "\n".join([f"{table}; in the pot: {first} and {second}", *rounds(rules, game), status(rules, game)])


def draw(rules: TexasHoldem, game: dict[str, Any]) -> Drawing:
    """Draw the cards, the chips in the pot of each player, and a button for each legal action."""
    names = [action_to_string(rules, action) for action in range(rules.num_actions)]
    count = 2 * rules.hole_cards + rules.board_cards
    width = max(2 * LEFT + count * STEP + 2 * GAP, 20 + len(names) * (cards.BUTTON[0] + GAP), 420)
    picture = Drawing(width, HEIGHT, cards.CLOTH, title="Texas hold'em")
    s = positions(rules, game)[-1]
    x = (width - count * STEP - 2 * GAP) / 2
    for title, row in rows(rules, game):
        for k, text in enumerate(row):
            colour = SUIT_COLOURS[SUIT_NAMES.find(text[-1])]
            cards.draw_card(picture, x, title if k == 0 else "", text, text == "?", 26, colour)
            x += STEP
        x += GAP
    for x, bet in zip((LEFT + 26, width - LEFT - 26), s["bets"], strict=True):
        cards.draw_chip(picture, x, 158, 20, bet)
    for k, line in enumerate(rounds(rules, game)):
        picture.text((width / 2, 140 + 17 * k), line, 12, cards.PALE)
    picture.text((width / 2, 220), status(rules, game), 14, cards.PALE, bold=True)
    cards.draw_buttons(picture, names, open_actions(rules, game, s), 240, GAP)
    return picture


def scores(rules: TexasHoldem, game: dict[str, Any]) -> list[str]:
    """Return the chips of each player in the pot."""
    return [f"{bet} in the pot" for bet in positions(rules, game)[-1]["bets"]]


def reason(rules: TexasHoldem, game: dict[str, Any]) -> str:
    """Return why a player has won, or the pot is shared (T7 to T9)."""
    return result(rules, game)[1]


def explain(rules: TexasHoldem, game: dict[str, Any], action: int) -> str:
    """Return the price of an action (T3, T4)."""
    before, after = positions(rules, game | {"history": [*game["history"], action]})[-2:]
    return priced(rules, before, after, action)


def tile(rules: TexasHoldem) -> Tile:
    """Return the hands and the open board as a small picture, by the colours of suits."""
    values = range(1 << (rules.deck - 1).bit_length())
    colours = tuple(SUIT_COLOURS[card % rules.suits] for card in values)
    hands = [Pixel(colours, (StateBits("hands", k),)) for k in range(2 * rules.hole_cards)]
    streets = range(len(rules.streets))
    board = list[Pixel]()
    for street, count in enumerate(rules.streets):
        shown = tuple(colour if at >= street else cards.BACK for at in streets for colour in colours)
        numbers = range(len(board), len(board) + count)
        board += [Pixel(shown, (StateBits("board", k), StateBits("street"))) for k in numbers]
    row = [*hands[: rules.hole_cards], *board, *hands[rules.hole_cards :]]
    return Tile(len(row), (row,))

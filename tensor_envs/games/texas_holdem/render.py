"""Positions of Texas hold'em as text and as drawings."""

from functools import partial
from typing import Any

from tensor_envs.games._kit import cards, poker
from tensor_envs.games.texas_holdem.hands import CATEGORIES, RANKS, strength
from tensor_envs.games.texas_holdem.notation import SUIT_NAMES, action_to_string, card_name
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

scores = poker.scores


def seen_by(rules: TexasHoldem, game: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the game without what is hidden from a player: the closed board, the opponent's hand until the end."""
    s = poker.betting(rules, game["history"])
    hands = list(game["hands"])
    if not s["terminated"] or game["history"][-1] == FOLD:
        hands[1 - player] = [cards.HIDDEN] * rules.hole_cards
    board = zip(game["board"], rules.street_of, strict=True)
    return game | {"hands": hands, "board": [card if s["street"] >= at else cards.HIDDEN for card, at in board]}


def result(rules: TexasHoldem, game: dict[str, Any]) -> tuple[int | None, str]:
    """Return the winner, None if the pot is shared, and why (T7 to T9)."""
    if game["history"][-1] == FOLD:
        return poker.betting(rules, game["history"])["current_player"], "the other has folded"
    hands = [[int32(card) for card in (*hand, *game["board"])] for hand in game["hands"]]
    first, second = (int(strength(hand, rules.ranks, rules.suits).value) for hand in hands)
    names = [CATEGORIES[value >> 2 * RANKS] for value in (first, second)]
    if first == second:
        return None, f"equal hands, {names[0]}"
    winner = int(second > first)
    return winner, f"the better {names[0]}" if names[0] == names[1] else names[winner]


def status(rules: TexasHoldem, game: dict[str, Any]) -> str:
    """Return the status: the player to move, or the winner, the chips and the hand."""
    s = poker.betting(rules, game["history"])
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


def lines_of(rules: TexasHoldem, game: dict[str, Any]) -> list[str]:
    """Return a line for each street: its name and its actions."""
    lines = list[str]()
    for street, actions in enumerate(poker.rounds(rules, game["history"], "street", partial(priced, rules))):
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
    """Return the hands, the open board, the chips in the pot and behind, the actions by streets, and the status."""
    bets = poker.betting(rules, game["history"])["bets"]
    table = "; ".join(f"{title}: {' '.join(row) or 'none'}" for title, row in rows(rules, game))
    left = [stack - bet for stack, bet in zip(rules.stacks, bets, strict=True)]
    chips = f"in the pot: {bets[0]} and {bets[1]}; stacks: {left[0]} and {left[1]}"
    return "\n".join([f"{table}; {chips}", *lines_of(rules, game), status(rules, game)])


def draw(rules: TexasHoldem, game: dict[str, Any]) -> Drawing:
    """Draw the cards, the chips in the pot of each player, and a button for each legal action."""
    names = [action_to_string(rules, action) for action in range(rules.num_actions)]
    count = 2 * rules.hole_cards + rules.board_cards
    width = max(2 * LEFT + count * STEP + 2 * GAP, 20 + len(names) * (cards.BUTTON[0] + GAP), 420)
    picture = Drawing(width, HEIGHT, cards.CLOTH, title="Texas hold'em")
    s = poker.betting(rules, game["history"])
    x = (width - count * STEP - 2 * GAP) / 2
    for title, row in rows(rules, game):
        for k, text in enumerate(row):
            colour = cards.SUIT_COLOURS.get(text[-1], cards.INK)
            cards.draw_card(picture, x, title if k == 0 else "", text, text == "?", 26, colour)
            x += STEP
        x += GAP
    for x, bet in zip((LEFT + 26, width - LEFT - 26), s["bets"], strict=True):
        cards.draw_chip(picture, x, 158, 20, bet)
    cards.draw_lines(picture, lines_of(rules, game), 140, 17)
    picture.text((width / 2, 220), status(rules, game), 14, cards.PALE, bold=True)
    cards.draw_buttons(picture, names, open_actions(rules, game, s), 240, GAP)
    return picture


def reason(rules: TexasHoldem, game: dict[str, Any]) -> str:
    """Return why a player has won, or the pot is shared (T7 to T9)."""
    return result(rules, game)[1]


def explain(rules: TexasHoldem, game: dict[str, Any], action: int) -> str:
    """Return the price of an action (T3, T4)."""
    before, after = poker.positions(rules, [*game["history"], action])[-2:]
    return priced(rules, before, after, action)


def tile(rules: TexasHoldem) -> Tile:
    """Return the hands and the open board as a small picture, by the colours of suits."""
    values = range(1 << (rules.deck - 1).bit_length())
    colours = tuple(cards.SUIT_COLOURS[SUIT_NAMES[card % rules.suits]] for card in values)
    hands = [Pixel(colours, (StateBits("hands", k),)) for k in range(2 * rules.hole_cards)]
    board = list[Pixel]()
    for k, street in enumerate(rules.street_of):
        shown = (cards.BACK,) * (street * len(colours)) + colours * (len(rules.streets) - street)
        board.append(Pixel(shown, (StateBits("board", k), StateBits("street"))))
    row = [*hands[: rules.hole_cards], *board, *hands[rules.hole_cards :]]
    return Tile(len(row), (row,))

"""Poker hand histories (PHH): hands of two players in files (T13).

A file is TOML. Players are numbered from 1 in the order in which they act after the flop, so that p1 is player 0, the
big blind, and p2 has the button. Blinds are written as [small, big] nevertheless: the format exchanges those of two
players. Chips of a raise are those that the player will have put in on the present street.

pokerkit, which judges these files in tests, does not read them: it accepts files that must be refused here, such as
unknown or equal cards, and fills in actions that a file lacks.
"""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tensor_envs._validate import errors_at, shortened, shown
from tensor_envs.files.records import Record
from tensor_envs.games._kit import poker
from tensor_envs.games.texas_holdem.notation import action_to_string, card_name, to_dict
from tensor_envs.games.texas_holdem.render import result
from tensor_envs.games.texas_holdem.rules import CALL, FOLD, TexasHoldem
from tensor_envs.rules.plain import open_actions

NO_LIMIT = "NT"
LIMIT = "FT"
SHAPE = {"streets": (0, 3, 1, 1), "hole_cards": 2, "ranks": 13, "suits": 4}  # fields of the games that a file can hold
MAX_RAISES = (4, 4, 4, 4)  # limit hold'em's, if a file has none
CALLS = {FOLD: "f", CALL: "cc"}  # actions without an amount, as a file has them
# own entries of a file: names of own entries begin with "_"
RAISES = "_raises"
RAISE_COUNTS = "_max_raises"
UNDEALT = "_undealt"
# entries that are kept in the notes of a record: strings or whole numbers
NOTED = (
    "author", "event", "url", "venue", "address", "city", "region", "postal_code", "country", "time_zone",
    "time_zone_abbreviation", "day", "month", "year", "hand", "level", "seat_count", "table", "currency",
    "currency_symbol",
)  # fmt: skip


# *** writing ***


def write(rules: TexasHoldem, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a hand as PHH. positions: the fields before each action and after the last one."""
    _check_shape(rules)
    last = positions[-1]
    actions, undealt = _lines_of(rules, to_dict(rules, last))
    entries: dict[str, Any] = {
        "variant": LIMIT if rules.limit else NO_LIMIT,
        "antes": [0, 0],
        "blinds_or_straddles": [rules.small_blind, rules.big_blind],
        **({"small_bet": rules.limit[0], "big_bet": rules.limit[-1]} if rules.limit else {"min_bet": rules.big_blind}),
        "starting_stacks": list(rules.stacks),
        "actions": actions,
    }
    if last["terminated"]:
        stacks = zip(rules.stacks, last["rewards"], strict=True)
        entries["finishing_stacks"] = [int(stack + won) for stack, won in stacks]
    entries |= _players_of(game.notes) | _tags_of(game.notes.get("tags"))
    entries |= {RAISES: list(rules.raises), RAISE_COUNTS: list(rules.max_raises)}
    entries |= {UNDEALT: undealt} if undealt else {}
    return "".join(f"{name} = {_toml(value)}\n" for name, value in entries.items())


def _check_shape(rules: TexasHoldem) -> None:
    """Raise ValueError for rule fields that no file can express."""
    for name, value in SHAPE.items():
        if getattr(rules, name) != value:
            raise ValueError(f"{name} must be {value} in PHH, got {getattr(rules, name)}")
    if rules.limit and (rules.limit[0], rules.limit[2]) != (rules.limit[1], rules.limit[3]):
        raise ValueError(f"limit must have a small bet twice and a big bet twice in PHH, got {rules.limit}")


def _lines_of(rules: TexasHoldem, game: dict[str, Any]) -> tuple[list[str], str]:
    """Return the actions of the dealer and the players, and the cards that are not on the board."""
    hands = [_names(rules, hand) for hand in game["hands"]]
    board = _names(rules, game["board"])
    lines = [f"d dh p{number} {hand}" for number, hand in enumerate(hands, 1)]
    for ply, (before, after) in enumerate(pairwise(poker.positions(rules, game["history"]))):
        action = game["history"][ply]
        words = _words(rules, game["history"][:ply])
        # The name of a raise tells it apart from others of equal chips.
        is_one = [*words.values()].count(words[action]) == 1
        comment = "" if is_one else f" # {action_to_string(rules, action)}"
        lines.append(f"p{before['current_player'] + 1} {words[action]}{comment}")
        if after["terminated"] and action != FOLD:  # hands are shown before the rest of the board is opened
            lines += [f"p{number} sm {hand}" for number, hand in enumerate(hands, 1)]
        for count in rules.streets[before["street"] + 1 : after["street"] + 1]:
            lines.append(f"d db {board[: 2 * count]}")
            board = board[2 * count :]
    return lines, board


def _words(rules: TexasHoldem, history: Sequence[int]) -> dict[int, str]:
    """Return how each legal action is written: "f", "cc", or "cbr" and the chips that it puts in on its street."""
    positions = poker.positions(rules, history)
    street, player = (positions[-1][name] for name in ("street", "current_player"))
    # Bets are equal where a street begins, but for the blinds of the first one.
    first = 0 if street == 0 else next(s["bets"][0] for s in positions if s["street"] == street)
    words = dict[int, str]()
    for action in open_actions(rules, {}, positions[-1]):
        bet = poker.betting(rules, [*history, action])["bets"][player]
        words[action] = CALLS.get(action, f"cbr {bet - first}")
    return words


def _names(rules: TexasHoldem, cards: Sequence[int]) -> str:
    return "".join(card_name(rules, card) for card in cards)


def _players_of(entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a file or of notes that names two players, if there is one."""
    players = entries.get("players")
    is_names = isinstance(players, list) and [type(name) for name in players] == [str, str]
    return {"players": players} if is_names else {}


def _tags_of(entries: Any) -> dict[str, Any]:
    """Return the entries that notes keep; none of what is no dictionary."""
    entries = entries if isinstance(entries, dict) else {}
    return {name: entries[name] for name in NOTED if type(entries.get(name)) in (str, int)}


def _toml(value: Any) -> str:
    """Return a string, a number or a list as TOML, which writes them as JSON does; long lists of strings have lines."""
    if isinstance(value, list) and len(value) > 2 and isinstance(value[0], str):
        return "[\n" + "".join(f"  {_toml(item)},\n" for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# *** reading ***


def read(rules: TexasHoldem, text: str) -> tuple[dict[str, Any], list[tuple[str, str]], dict[str, Any]]:
    """Return the deal, names and places of the players' actions, and notes.

    Cards of the board that were not dealt are those of the file's own entry or, without it, the lowest ones left.

    Raises:
        ValueError: another game, other chips than those of the rules, or a deal that is not known.
    """
    _check_shape(rules)
    for name, value in rule_fields(text).items():
        if name not in ("raises", "max_raises") and value != getattr(rules, name):
            raise ValueError(f"{name} is {value}, and that of the environment is {getattr(rules, name)}")
    entries = _entries(text)
    lines = entries.get("actions")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ValueError(f"actions must be a list of strings, got {shown(lines)}")
    hand = Hand(rules)
    for number, line in enumerate(lines, 1):
        place = shortened(f"action {number}, {line}")
        with errors_at(place):
            hand.add(line, place)
    start = hand.start(entries.get(UNDEALT))
    hand.check_end(start)
    names = [action_to_string(rules, action) for action in hand.history]
    notes = {"tags": _tags_of(entries), **_players_of(entries)}
    return start, [*zip(names, hand.places, strict=True)], {"notes": notes}


def _entries(text: str) -> dict[str, Any]:
    """Return the entries of a text. ValueError for one that is no TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it must be TOML, got too many brackets") from None


def rule_fields(text: str) -> dict[str, Any]:
    """Return the rule fields of a text. ValueError for those of another game."""
    entries = _entries(text)
    variant = entries.get("variant")
    if variant not in (NO_LIMIT, LIMIT):
        raise ValueError(f"variant must be {NO_LIMIT} or {LIMIT}, got {shown(variant)}")
    if any(antes := _pair(entries, "antes")):
        raise ValueError(f"antes must be [0, 0], got {antes}")
    small, big = _pair(entries, "blinds_or_straddles")
    stacks = tuple(_pair(entries, "starting_stacks"))
    fields: dict[str, Any] = {"stacks": stacks, "small_blind": small, "big_blind": big, "limit": ()}
    if variant == LIMIT:
        bets = [_whole(name, entries.get(name)) for name in ("small_bet", "big_bet")]
        fields |= {"limit": (bets[0], bets[0], bets[1], bets[1]), "max_raises": MAX_RAISES}
    elif (least := _whole("min_bet", entries.get("min_bet"))) != big:
        raise ValueError(f"min_bet must be the big blind, {big}, got {least}")
    for name in (RAISES, RAISE_COUNTS):
        if isinstance(values := entries.get(name), list):
            fields[name.removeprefix("_")] = tuple(_whole(f"{name}[{k}]", value) for k, value in enumerate(values))
    return fields


def _pair(entries: dict[str, Any], name: str) -> list[int]:
    """Return the numbers of both players. ValueError for those of another number of players."""
    values = entries.get(name)
    if not isinstance(values, list) or len(values) != 2:
        raise ValueError(f"{name} must be a list of 2 numbers, those of 2 players, got {shown(values)}")
    return [_whole(f"{name}[{k}]", value) for k, value in enumerate(values)]


def _whole(name: str, value: Any) -> int:
    """Return chips as an int. ValueError unless they are a whole number of at least 0."""
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    if not is_whole or value < 0:
        raise ValueError(f"{name} must be a whole number of chips, got {shown(value)}")
    return int(value)


@dataclass
class Hand:
    """Hand of a file, action by action. Errors of its methods are ValueErrors.

    Attributes:
        rules: the rules of the game.
        hands: cards of each player.
        board: cards of the board.
        history: numbers of the players' actions.
        places: places of these actions in the file.
        showdown: places of hands that are shown or mucked, with their player and cards.
    """

    rules: TexasHoldem
    hands: dict[str, list[int]] = field(default_factory=lambda: {"p1": [], "p2": []})
    board: list[int] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    showdown: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, line: str, place: str) -> None:
        """Add an action of the dealer or of a player."""
        action, _, comment = line.partition("#")
        match action.split():
            case []:
                pass
            case ["d", "dh", "p1" | "p2" as player, cards]:
                self.hands[player] += self._cards(cards)
            case ["d", "db", cards]:
                self.board += self._cards(cards)
            case ["d", *_]:
                raise ValueError("the dealer's action must be dh p1, dh p2 or db, and cards")
            case ["p1" | "p2" as player, "sm", *cards]:
                if not poker.betting(self.rules, self.history)["terminated"]:
                    raise ValueError("hands are shown when the betting is over")
                self.showdown.append((place, player, "".join(cards)))
            case [_, "sm", *_]:
                raise ValueError("the player must be p1 or p2")
            case [player, *words]:
                self._check_turn(player)
                self.history.append(self._action(" ".join(words), comment.strip()))
                self.places.append(place)

    def _cards(self, text: str) -> list[int]:
        """Return the cards of a text such as "AsKd"."""
        cards = {card_name(self.rules, card): card for card in range(self.rules.deck)}
        names = [text[at : at + 2] for at in range(0, len(text), 2)]
        if not names or not {*names} <= {*cards}:
            raise ValueError(f"cards must be known, such as AsKd, got {shown(text)}")
        return [cards[name] for name in names]

    def _check_turn(self, player: str) -> None:
        """Check that a player may act: the hand goes on, it is the player's turn, and the street's cards are dealt."""
        now = poker.betting(self.rules, self.history)
        if now["terminated"]:
            raise ValueError("the hand is over")
        if player != (label := f"p{now['current_player'] + 1}"):
            raise ValueError(f"{label} is to act")
        if len(self.board) != (count := sum(self.rules.streets[: now["street"] + 1])):
            raise ValueError(f"the board must have {count} cards, got {len(self.board)}")

    def _action(self, word: str, comment: str) -> int:
        """Return the number of an action of the player to move."""
        words = _words(self.rules, self.history)
        found = [action for action, text in words.items() if text == word]
        if not found:
            raise ValueError(f"the action must be one of {', '.join(dict.fromkeys(words.values()))}")
        # The comment tells raises of equal chips apart.
        named = [action for action in found if action_to_string(self.rules, action) == comment]
        return (named or found)[0]

    def start(self, undealt: Any) -> dict[str, Any]:
        """Return the first position: the hands and the whole board, with cards in the order of T1."""
        rules = self.rules
        for player, hand in self.hands.items():
            if len(hand) != rules.hole_cards:
                raise ValueError(f"{player} must have {rules.hole_cards} cards, got {_names(rules, hand) or 'none'}")
        if len(self.board) > rules.board_cards:
            raise ValueError(f"the board must have at most {rules.board_cards} cards, got {_names(rules, self.board)}")
        hands = [*self.hands.values()]
        dealt = [*hands[0], *hands[1], *self.board]
        if len({*dealt}) < len(dealt):
            raise ValueError(f"cards must be different, got {_names(rules, dealt)}")
        # The rest of the board was not dealt, and has no effect.
        rest = self._cards(undealt) if isinstance(undealt, str) else []
        rest += [card for card in range(rules.deck) if card not in (*dealt, *rest)]
        board = self.board + rest[: rules.board_cards - len(self.board)]
        flop = rules.streets[1]
        return {"hands": [sorted(hand) for hand in hands], "board": sorted(board[:flop]) + board[flop:], "history": []}

    def check_end(self, start: dict[str, Any]) -> None:
        """Check that the cards at the end are those that were dealt, and that a player mucks only a beaten hand."""
        shows = self.history[-1:] != [FOLD]
        over = poker.betting(self.rules, self.history)["terminated"]
        count = self.rules.board_cards
        dealt = len(self.board)
        for place, player, cards in self.showdown:
            number = int(player[1]) - 1
            with errors_at(place):
                if cards in ("", "-"):
                    if shows and result(self.rules, start | {"history": self.history})[0] != 1 - number:
                        raise ValueError(f"{player} must show the hand, which is not beaten")
                elif sorted(self._cards(cards)) != start["hands"][number]:
                    raise ValueError(f"{player} must show {_names(self.rules, start['hands'][number])}")
        if over and shows and dealt < count:
            raise ValueError(f"actions must deal {count} cards of the board where hands are shown, got {dealt}")

"""Poker hand histories (PHH): hands of two players in files (T13).

A file is TOML. Players are numbered from 1 in the order in which they act after the flop, so that p1 is player 0, the
big blind, and p2 has the button. Blinds are written as [small, big] nevertheless: the format exchanges those of two
players. Chips of a raise are those that the player will have put in on the present street.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tensor_envs._validate import shown
from tensor_envs.files.records import Record
from tensor_envs.games.texas_holdem.notation import RANK_NAMES, SUIT_NAMES, action_to_string, betting, card_name
from tensor_envs.games.texas_holdem.render import result
from tensor_envs.games.texas_holdem.rules import CALL, FOLD, RAISE, TexasHoldem
from tensor_envs.rules.plain import open_actions

NO_LIMIT = "NT"
LIMIT = "FT"
SHAPE = {"streets": (0, 3, 1, 1), "hole_cards": 2, "ranks": 13, "suits": 4}  # of the games that a file can hold
MAX_RAISES = (4, 4, 4, 4)  # of limit hold'em, where a file has none
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
CARDS = re.compile(f"(?:[{RANK_NAMES}][{SUIT_NAMES}])+")


# *** writing ***


def write(rules: TexasHoldem, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a hand as PHH. positions: the fields before each action and after the last one."""
    _check_shape(rules)
    last = positions[-1]
    actions, undealt = _actions_of(rules, last)
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
    entries |= _noted_entries(game.notes)
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


def _actions_of(rules: TexasHoldem, last: dict[str, Any]) -> tuple[list[str], str]:
    """Return the actions of the dealer and the players up to a position, and the cards that are not on the board."""
    history = tuple(action - 1 for action in last["history"] if action)
    hands = [_names(rules, hand) for hand in last["hands"]]
    lines = [f"d dh p{player + 1} {hand}" for player, hand in enumerate(hands)]
    seen = [betting(rules, history[:ply]) for ply in range(len(history) + 1)]
    board = list(last["board"])
    for ply, (before, after) in enumerate(pairwise(seen)):
        action = history[ply]
        lines.append(f"p{before['current_player'] + 1} {_word(rules, history[:ply], action)}")
        if after["terminated"] and action != FOLD:  # hands are shown before the rest of the board is opened
            lines += [f"p{player + 1} sm {hand}" for player, hand in enumerate(hands)]
        for street in range(before["street"] + 1, after["street"] + 1):
            count = rules.streets[street]
            lines.append(f"d db {_names(rules, board[:count])}")
            del board[:count]
    return lines, _names(rules, board)


def _word(rules: TexasHoldem, history: tuple[int, ...], action: int) -> str:
    """Return a player's action; of several raises of equal chips also its name, as a comment."""
    if action < RAISE:
        return "f" if action == FOLD else "cc"
    chips = _raises(rules, history)
    is_one = [*chips.values()].count(chips[action]) == 1
    return f"cbr {chips[action]}" + ("" if is_one else f" # {action_to_string(rules, action)}")


def _raises(rules: TexasHoldem, history: tuple[int, ...]) -> dict[int, int]:
    """Return the chips that each legal raise makes a player put in on the present street."""
    now = betting(rules, history)
    before = (betting(rules, history[:ply]) for ply in range(len(history) + 1))
    # Bets are equal where a street begins, but for the blinds of the first one.
    first = 0 if now["street"] == 0 else next(s["bets"][0] for s in before if s["street"] == now["street"])
    player = now["current_player"]
    raises = [action for action in open_actions(rules, {}, now) if action >= RAISE]
    return {action: betting(rules, (*history, action))["bets"][player] - first for action in raises}


def _names(rules: TexasHoldem, cards: Sequence[int]) -> str:
    return "".join(card_name(rules, card) for card in cards)


def _noted_entries(notes: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a file that the notes of a record have."""
    tags = notes.get("tags")
    entries = {name: tags[name] for name in NOTED if name in tags} if isinstance(tags, dict) else {}
    entries = {name: value for name, value in entries.items() if type(value) in (str, int)}
    players = notes.get("players")
    return {"players": players, **entries} if _is_names(players) else entries


def _is_names(players: Any) -> bool:
    return isinstance(players, list) and [type(name) for name in players] == [str, str]


def _toml(value: Any) -> str:
    """Return a string, a number or a list as TOML, which writes them as JSON does; long lists of strings have lines."""
    if isinstance(value, list) and len(value) > 2 and isinstance(value[0], str):
        return "[\n" + "".join(f"  {_toml(item)},\n" for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# *** reading ***


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
    fields: dict[str, Any] = {
        "stacks": tuple(_pair(entries, "starting_stacks")),
        "small_blind": small,
        "big_blind": big,
        "limit": (),
    }
    if variant == LIMIT:
        bets = [_whole(name, entries.get(name)) for name in ("small_bet", "big_bet")]
        fields |= {"limit": (bets[0], bets[0], bets[1], bets[1]), "max_raises": MAX_RAISES}
    elif (least := _whole("min_bet", entries.get("min_bet"))) != big:
        raise ValueError(f"min_bet must be the big blind, {big}, got {least}")
    for field, name in (("raises", RAISES), ("max_raises", RAISE_COUNTS)):
        if isinstance(values := entries.get(name), list):
            fields[field] = tuple(_whole(f"{name}[{k}]", value) for k, value in enumerate(values))
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


def read(rules: TexasHoldem, text: str) -> tuple[dict[str, Any], Iterator[tuple[str, str]], dict[str, Any]]:
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
    actions = [(f"action {number}, {line}", *_split(line)) for number, line in enumerate(lines, 1)]
    deal = _deal_of(rules, actions, entries.get(UNDEALT))
    tags = {name: entries[name] for name in NOTED if type(entries.get(name)) in (str, int)}
    notes: dict[str, Any] = {"tags": tags} if tags else {}
    if _is_names(players := entries.get("players")):
        notes["players"] = players
    return deal, _moves(rules, actions, deal), {"notes": notes}


Line = tuple[str, list[str], str]  # place, words and comment of an action


def _split(line: str) -> tuple[list[str], str]:
    """Return the words and the comment of an action."""
    action, _, comment = line.partition("#")
    return action.split(), comment.strip()


def _cards_of(rules: TexasHoldem, text: str) -> list[int]:
    """Return the cards of a text such as "AsKd". ValueError for any other, such as "????"."""
    if not CARDS.fullmatch(text):
        raise ValueError(f"cards must be known, such as AsKd, got {shown(text)}")
    names = zip(text[::2], text[1::2], strict=True)
    return [RANK_NAMES.index(rank) * rules.suits + SUIT_NAMES.index(suit) for rank, suit in names]


def _deal_of(rules: TexasHoldem, actions: Sequence[Line], undealt: Any) -> dict[str, Any]:
    """Return the first position: the hands and the whole board, with cards in the order of T1."""
    *hands, board = _dealt(rules, actions)
    for number, hand in enumerate(hands, 1):
        if len(hand) != rules.hole_cards:
            raise ValueError(f"p{number} must have {rules.hole_cards} cards, got {_names(rules, hand) or 'none'}")
    if len(board) > rules.board_cards:
        raise ValueError(f"the board must have at most {rules.board_cards} cards, got {_names(rules, board)}")
    dealt = [*hands[0], *hands[1], *board]
    if len({*dealt}) < len(dealt):
        raise ValueError(f"cards must be different, got {_names(rules, dealt)}")
    # The rest of the board was not dealt, and has no effect.
    rest = _cards_of(rules, undealt) if isinstance(undealt, str) else []
    rest += [card for card in range(rules.deck) if card not in (*dealt, *rest)]
    board += rest[: rules.board_cards - len(board)]
    flop = rules.streets[1]
    return {"hands": [sorted(hand) for hand in hands], "board": sorted(board[:flop]) + board[flop:], "history": []}


def _dealt(rules: TexasHoldem, actions: Sequence[Line]) -> list[list[int]]:
    """Return the cards that the dealer deals to p1, to p2 and to the board. ValueError names the place of others."""
    first = list[int]()
    second = list[int]()
    board = list[int]()
    for place, words, _ in actions:
        if words[:1] != ["d"]:
            continue
        try:
            match words[1:]:
                case ["dh", "p1", text]:
                    first += _cards_of(rules, text)
                case ["dh", "p2", text]:
                    second += _cards_of(rules, text)
                case ["db", text]:
                    board += _cards_of(rules, text)
                case _:
                    raise ValueError("the dealer's action must be dh p1, dh p2 or db, and cards")
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    return [first, second, board]


def _moves(rules: TexasHoldem, actions: Sequence[Line], deal: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of the players' actions. ValueError names the place of one that is not of the game."""
    history = tuple[int, ...]()
    dealt = 0
    for place, words, comment in actions:
        try:
            if words[:2] == ["d", "db"]:
                dealt += len(words[2]) // 2
            elif words[1:2] == ["sm"]:
                _check_shown(rules, deal | {"history": [*history]}, words)
            elif words and words[0] != "d":
                action = _action_of(rules, history, words, comment, dealt)
                yield action_to_string(rules, action), place
                history += (action,)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    if betting(rules, history)["terminated"] and history[-1] != FOLD and dealt < rules.board_cards:
        raise ValueError(f"actions must deal {rules.board_cards} cards of the board where hands are shown, got {dealt}")


def _action_of(rules: TexasHoldem, history: tuple[int, ...], words: Sequence[str], comment: str, dealt: int) -> int:
    """Return the number of a player's action after others. dealt: number of cards on the board."""
    now = betting(rules, history)
    if now["terminated"]:
        raise ValueError("the hand is over")
    if words[0] != (label := f"p{now['current_player'] + 1}"):
        raise ValueError(f"{label} is to act")
    if dealt != (count := sum(rules.streets[: now["street"] + 1])):
        raise ValueError(f"the board must have {count} cards, got {dealt}")
    raises = _raises(rules, history)
    allowed = [("f", FOLD), ("cc", CALL), *((f"cbr {chips}", action) for action, chips in raises.items())]
    allowed = [(word, action) for word, action in allowed if action in open_actions(rules, {}, now)]
    text = " ".join(words[1:])
    found = [action for word, action in allowed if word == text]
    if not found:
        raise ValueError(f"the action must be one of {', '.join(dict(allowed))}")
    # The comment tells raises of equal chips apart.
    named = [action for action in found if action_to_string(rules, action) == comment]
    return (named or found)[0]


def _check_shown(rules: TexasHoldem, game: dict[str, Any], words: Sequence[str]) -> None:
    """Check that a hand is shown at the end as it was dealt. A player may muck a hand that does not win."""
    if words[0] not in ("p1", "p2"):
        raise ValueError("the player must be p1 or p2")
    if not betting(rules, tuple(game["history"]))["terminated"]:
        raise ValueError("hands are shown when the betting is over")
    player = int(words[0][1]) - 1
    if words[2:] in ([], ["-"]):
        if game["history"][-1] != FOLD and result(rules, game)[0] != 1 - player:
            raise ValueError(f"{words[0]} must show the hand, which is not beaten")
    elif sorted(_cards_of(rules, "".join(words[2:]))) != game["hands"][player]:
        raise ValueError(f"{words[0]} must show {_names(rules, game['hands'][player])}")

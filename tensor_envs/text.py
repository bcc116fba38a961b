"""Games as text, for players that read and write: language models and people at a prompt."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from io import BytesIO
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from tensor_envs._validate import function, instance, integer, renames, shown, wrong_type
from tensor_envs.env import Env
from tensor_envs.render.moves import HIDDEN, moves_for
from tensor_envs.render.prompt import prompt_text
from tensor_envs.render.scene import names_of
from tensor_envs.state import State

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Oracle
    from tensor_envs.files.records import Record

__all__ = ["describe", "how_to_play", "parse", "prompt", "reward", "rewards", "schema"]

MAX_READ = 2**16  # characters of an answer that are read, its last ones
# what precedes an answer: as a prompt asks for it, in JSON or in a box; and as models like to write it
MARK = re.compile(r"\b(?:move|action|answer)\b[\s*_`'\"]*[:=]|\\boxed\{", re.IGNORECASE)
PHRASE = re.compile(r"\b(?:move|action|answer)\b[\s*_`'\"]*is\b", re.IGNORECASE)
# words directly before a name that is not played
DENIAL = re.compile(
    r"(?:\b(?:not|never|avoid(?:ing)?|without)|n't|\b(?:instead\s+of|rather\s+than))\s+"
    r"(?:(?:to|be|play|playing|choose|choosing|the|move|is)\s+)*[\s*_`'\"]*$",
    re.IGNORECASE,
)
DENIAL_WITHIN = 64  # characters
# numbers of moves, as in "1.e4" and "1.24/20"
MOVE_NUMBER = re.compile(r"(?<![\w.])\d{1,3}\s?\.{1,3}\s*(?=[*_`]*(?:[A-Za-z♔-♟]|\d+\s*(?:[-x/]|[a-z]\b)))")
SIGNS = str.maketrans(dict.fromkeys("‐‑‒–—−→⇒➔➜", "-") | dict.fromkeys("×✕✖⨯", "x") | {"…": "...", "\u00a0": " "})
# between two moves of which an answer leaves the choice open
OR = re.compile(r"[\s*_`'\"]*\bor\b[\s*_`'\"]*", re.IGNORECASE)
NUMBERS = r"\d+(?:\s*,\s*\d+)+"
LIST = re.compile(rf"\[(\s*{NUMBERS}\s*)\]")  # coordinates as JSON has them
# coordinates alone in a line, or behind a mark
BARE = re.compile(rf"(?<![^:=\n])([ \t*_`'\"]*)({NUMBERS})(?=[ \t*_`'\".}}]*$)", re.MULTILINE)
MAX_LISTED = 8  # names of actions in an error
# parts of a name, between which there may be spaces; "e2e4" and "22x15" consist of squares
TOKEN = re.compile(r"[A-Za-z]+\d+(?=x?[a-z]\d)|\d+(?=x\d)|x(?=[a-z]?\d)|\w+|[^\w\s]")
SQUARE = re.compile(r"[A-Za-z]+\d+")
DASH = r"(?:[-:x]|\bto\b)"
SPELLINGS = {"-": DASH, "x": DASH, "=": "=?", "/": r"(?:[-/]|\bto\b)"}
SEPARATOR = r"\s*(?:[,;&+]\s*)?(?:and\s+)?"  # of numbers in a row, such as "1, 2 and 4"
BETWEEN = rf"\s*(?:{DASH}\s*)?"  # two squares
POSITIONS = 64  # that an oracle is asked about at once
SCHEMA_GAMES = 4  # whose positions a schema describes
SCHEMA_PLIES = 64
ILLEGAL = -1  # in place of the number of an action whose name no legal one has


class IllegalMove(ValueError):
    """Answer that names a move which is not legal."""


def describe(env: Env) -> str:
    """Return the rules as text: the game's RULES.md, or the docstring of its rules, and the rule fields.

    Args:
        env: the environment.

    Returns:
        Text that ends with a newline.

    Raises:
        TypeError: `env` is no Env.

    Examples:
        >>> te.text.describe(te.make("tic_tac_toe")).splitlines()[-1]
        'This game is tic_tac_toe with shape=(3, 3), k=3, misere=False, gravity=False; player 0 is X, player 1 is O.'
    """
    instance("env", env, Env)
    fields = ", ".join(f"{name}={value!r}" for name, value in asdict(env.rules).items())
    players = ", ".join(f"player {player} is {name}" for player, name in enumerate(seat_names(env)))
    return f"{rulebook(env.rules).strip()}\n\nThis game is {env.id} with {fields or 'no fields'}; {players}.\n"


@overload
def prompt(
    state: State,
    row: int = 0,
    player: int | None = None,
    history: Record | None = None,
    legal: bool = True,
    rules: bool = False,
    image: Literal[False] = False,
) -> str: ...
@overload
def prompt(
    state: State,
    row: int = 0,
    player: int | None = None,
    history: Record | None = None,
    legal: bool = True,
    rules: bool = False,
    *,
    image: Literal[True],
) -> tuple[str, bytes]: ...
@renames(i="row")
def prompt(
    state: State,
    row: int = 0,
    player: int | None = None,
    history: Record | None = None,
    legal: bool = True,
    rules: bool = False,
    image: bool = False,
) -> str | tuple[str, bytes]:
    """Return one game as text: what a player may know and, if that player is to move, the legal moves.

    Args:
        state: the games.
        row: of the game.
        player: the one who is asked; default: the player to move.
        history: record of the game until this position, whose moves are listed; None: no list of moves. Moves that are
            hidden from the player are not named.
        legal: whether the legal moves are listed.
        rules: whether the text begins with the rules in short, see `how_to_play`.
        image: whether a picture is returned, too, which needs Pillow (extra `draw`).

    Returns:
        Text that ends with an instruction for an answer that `parse` understands; with `image` also a PNG of the
            position, as `Env.render` shows it to the player. Neither depends on what is hidden from the player.

    Raises:
        ImportError: `image` without Pillow.
        ValueError, TypeError: no State, or no such row or player; a history of another game or of another length;
            `image` of a game that has no `draw`.
        NotImplementedError: a game of imperfect information without a render module that has `seen_by`.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> print(te.text.prompt(env.step(env.init(1), [4]), history=te.record(env, [4])))
        You are O in tic_tac_toe; the players are X and O.
        <BLANKLINE>
           0  1  2
        0  .  .  .
        1  .  X  .
        2  .  .  .
        <BLANKLINE>
        O to move
        <BLANKLINE>
        Moves so far, each after its player: X (1,1)
        You are to move. Legal moves: (0,0); (0,1); (0,2); (1,0); (1,2); (2,0); (2,1); (2,2)
        End your answer with a line that names one of them, such as: move: (0,0)
        <BLANKLINE>
    """
    instance("state", state, State)
    row = integer("row", row, 0, state.batch - 1)
    env = state.env
    if player is not None:
        player = integer("player", player, 0, env.num_players - 1)
    instance("legal", legal, bool)
    instance("rules", rules, bool)
    instance("image", image, bool)
    moves = None if history is None else moves_of(history, state, row)
    short = how_to_play(env) if rules else ""
    text = short + "\n" * bool(short) + compose(state, row, player, moves, legal, env.id, str)
    return (text, picture(state, row, player)) if image else text


def picture(state: State, row: int, player: int | None) -> bytes:
    """Return a PNG of one game as a player may know it, by default the one to move. Errors are those of `prompt`."""
    from tensor_envs.files.pictures import pixels  # reads files, which a page in a browser does not

    file = BytesIO()
    player = state.env.row(state, row)["current_player"] if player is None else player
    pixels(state, row, player, 1.0).save(file, "PNG")
    return file.getvalue()


def moves_of(history: Record, state: State, row: int) -> list[tuple[int, str]]:
    """Return the players and names of a record's moves. ValueError if it does not lead to the position."""
    from tensor_envs.files.records import Record  # reads files, which a page in a browser does not
    from tensor_envs.registry import env_metadata

    instance("history", history, Record)
    if history.game != env_metadata(state.env):
        raise ValueError(f"history must be of {state.env!r}, got {shown(history.game)}")
    plies = state.env.row(state, row)["ply"]
    first = 0 if history.start is None else state.env.row(state.env.state_from_dicts([history.start]), 0)["ply"]
    moves = list(zip(history.players, history.names, strict=True))
    if history.terminated and first + len(moves) == plies + 1:
        moves.pop()  # an illegal action, which ends the game without a ply
    if first + len(moves) != plies:
        raise ValueError(
            f"history must lead to the position, which is at ply {plies}, got {len(moves)} moves from ply {first} on"
        )
    return moves


def compose(
    state: State,
    row: int,
    player: int | None,
    moves: Sequence[tuple[int, str]] | None,
    legal: bool,
    title: str,
    spell: Callable[[str], str],
) -> str:
    """Return a prompt in which a game has a title, and its position and moves are spelled by a function.

    `moves` are the players and names of all moves so far; names that are hidden from the player are left out.
    """
    env = state.env
    fields = state.env.row(state, row)
    mover = fields["current_player"]
    over = fields["terminated"] or fields["truncated"]
    player = mover if player is None else player
    listed = legal and player == mover and not over
    return prompt_text(
        title,
        [spell(name) for name in seat_names(env, state, row)],
        player,
        None if over else mover,
        spell(position(state, row, player)),
        None if moves is None else _known(state, row, player, moves, spell),
        [spell(name) for name in env.legal_actions(state, row).values()] if listed else None,
    )


def seat_names(env: Env, state: State | None = None, row: int = 0) -> list[str]:
    """Return the names of the seats, in a game that has started where they depend on it."""
    if not env.entry.render:
        return names_of(env.rules, None)
    return names_of(env.rules, env.entry.load("render"), None if state is None else env.state_to_dict(state, row))


def _known(
    state: State, row: int, player: int, moves: Sequence[tuple[int, str]], spell: Callable[[str], str]
) -> list[tuple[int, str]]:
    """Return the players and spelled names of moves, as far as a player may know them."""
    from tensor_envs.registry import is_built_in  # reads files, which a page in a browser does not

    env = state.env
    named = list(moves)
    if not env.spec.perfect_information and is_built_in(env):
        whole = env.state_to_dict(state, row)
        visible = env.state_to_dict(state, row, player)
        named = moves_for(env.rules, env.entry.load("render"), moves, whole, visible, player)
    elif not env.spec.perfect_information:
        named = [(mover, name if mover == player else HIDDEN) for mover, name in moves]
    return [(mover, name if name == HIDDEN else spell(name)) for mover, name in named]


def position(state: State, row: int, player: int | None) -> str:
    """Return a player's view as text."""
    return state.env.to_string(state, row, player).rstrip()


@renames(i="row")
def parse(env: Env, answer: str, state: State | None = None, row: int = 0) -> int:
    """Return the action that an answer names: after the last "move:" or "answer:", in its last line, or anywhere.

    Case and spaces do not count, unless moves differ by case alone. "e2-e4", "e2xe4" and "e2 to e4" are read as "e2e4",
    numbers of moves as in "1.e4" are left out, and all names of `Env.string_to_action` and the synonyms of the game's
    notation are understood; "1,2" alone in a line and "[1, 2]" are "(1,2)". Behind "move:" the first move counts,
    unless "or" and another follow, and without one the answer names none. Where a line or an answer names several, the
    only legal one of them is taken. A move behind "not" is not named. Of a long answer the last 65,536 characters are
    read.

    Args:
        env: the environment.
        answer: any text.
        state: of this environment; the action must be legal in it.
        row: of the game.

    Returns:
        The action.

    Raises:
        ValueError: the answer names no move, several, or an illegal one; the message is fit to ask again.
        TypeError: `answer` is no str, or `state` is of another environment.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.text.parse(env, "The centre is taken by (1,1), so I take a corner.\\nMove: **( 0, 2 )**")
        2
    """
    instance("env", env, Env)
    instance("answer", answer, str)
    # legal moves decide between names; the others are known, too
    legal = None if state is None else env.legal_actions(state, row)
    every = {} if env.names_depend_on_position else {name: a for a, name in enumerate(env.action_names)}
    # all names, so that an illegal move can be called so; of two actions with one name the legal one is meant
    named_by_position = env.spellings(state, row)
    form = env.entry.load("notation").move_pattern(named_by_position) if env.names_depend_on_position else ""
    names = _names(tuple((every | named_by_position).items()), form)
    read = _normalized(answer, getattr(env.entry.find("notation"), "SYNONYMS", ()))
    # where a move is likely: behind the last mark, behind the last phrase that announces one, in the last line
    marks = [mark.end() for mark in MARK.finditer(read)]
    phrases = [mark.end() for mark in PHRASE.finditer(read)]
    marked = read[marks[-1] :].partition("\n")[0] if marks else ""
    phrase = read[phrases[-1] :].partition("\n")[0] if phrases else ""
    last = next((line for line in reversed(read.splitlines()) if any(map(str.isalnum, line))), "")
    places = [(marked, True)]
    if not any(map(str.isalnum, marked)):
        places += [(phrase, True), (last, False), (read, False)]  # the likeliest first
    # the first place that names one move decides; one that names several asks for a clearer answer
    for place, is_marked in places:
        matches = (match for match in names.pattern.finditer(place) if not _denied(place, match.start()))
        counted = list(islice(matches, 2 if is_marked else None))
        if is_marked and len(counted) == 2 and not OR.fullmatch(place, counted[0].end(), counted[1].start()):
            counted.pop()  # what follows a move explains it
        named = {names.action(match): match.group() for match in counted}
        if legal is not None and len(named) > 1:
            named = {action: text for action, text in named.items() if action in legal}
        if len(named) == 1:
            ((action, text),) = named.items()
            if legal is None or action in legal:
                return action
            name = text if action == ILLEGAL else env.action_names[action]
            raise IllegalMove(f"{name} is not legal; {_listed(env, legal)}")
        if len(named) > 1:
            texts = legal or dict(enumerate(env.action_names))
            several = ", ".join(texts[action] for action in sorted(named.keys() & texts.keys())[:MAX_LISTED])
            raise ValueError(f"answer must name one move, got {shown(place.strip())}, which names {several}")
    raise ValueError(f"answer must name a move, got {shown(answer)}; {_listed(env, legal)}")


def _normalized(answer: str, synonyms: Sequence[tuple[str, Any]]) -> str:
    """Return the end of an answer with plain signs, without numbers of moves, and with names for synonyms."""
    if len(answer) > MAX_READ:
        answer = answer[-MAX_READ:].partition(" ")[2]  # a name may be cut
    text = answer.translate(SIGNS)
    for pattern, replacement in synonyms:
        text = re.sub(pattern, replacement, text)
    return BARE.sub(r"\1(\2)", LIST.sub(r"(\1)", MOVE_NUMBER.sub("", text)))


def _denied(text: str, start: int) -> bool:
    """Return whether the name that starts there stands behind a word such as "not"."""
    return DENIAL.search(text[max(0, start - DENIAL_WITHIN) : start]) is not None


def rulebook(rules: object) -> str:
    """Return RULES.md beside the module of the rules, or else their docstring."""
    source = inspect.getsourcefile(type(rules)) if hasattr(inspect.getmodule(type(rules)), "__file__") else None
    path = Path(source).with_name("RULES.md") if source else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else inspect.getdoc(rules) or ""


def how_to_play(env: Env) -> str:
    """Return the goal, a turn and the end of a game in at most ten lines.

    Args:
        env: the environment.

    Returns:
        The section "How to play" of the game's RULES.md, in lines that end with a newline; "" where there is none.

    Raises:
        TypeError: `env` is no Env.

    Examples:
        >>> print(te.text.how_to_play(te.make("connect_four")), end="")
        - **Goal:** Get four of your stones in a row, a column or a diagonal without a gap (`k` sets another number).
        - **Your turn:** Drop a stone into a column that is not full. It falls to the lowest empty cell.
        - **The end:** The first line wins. A full board without a line is a draw.
    """
    instance("env", env, Env)
    section = rulebook(env.rules).partition("\n## How to play\n")[2].partition("\n## ")[0].strip()
    return f"{section}\n" if section else ""


def _listed(env: Env, legal: dict[int, str] | None) -> str:
    """Return a sentence that lists some moves."""
    if legal is not None and not legal:
        return "no move is legal, the game is over"
    listed = env.action_names if legal is None else tuple(legal.values())
    names = "; ".join(listed[:MAX_LISTED]) + "; ..." * (len(listed) > MAX_LISTED)
    return f"{'moves' if legal is None else 'legal moves'} are {names}"


def schema(env: Env) -> dict[str, Any]:
    """Return the JSON Schema of the dictionaries of `Env.state_to_dict`, as `json.dumps` writes them.

    Args:
        env: the environment.

    Returns:
        Names of entries with the types that they have in positions of random games. Entries that are not "required" are
        in some positions only. Lengths and ranges are not described.

    Raises:
        TypeError: `env` is no Env.

    Examples:
        >>> te.text.schema(te.make("tic_tac_toe"))["properties"]["board"]
        {'type': 'array', 'items': {'type': 'integer'}}
    """
    from tensor_envs.rollouts.sampling import uniform  # a page in a browser does not have it

    instance("env", env, Env)
    kinds = dict[str, Any]()
    state = env.init(SCHEMA_GAMES)
    required = set(env.state_to_dict(state))
    for _ in range(SCHEMA_PLIES):
        for i in range(SCHEMA_GAMES):
            game = env.state_to_dict(state, i)
            required &= game.keys()
            kinds |= {name: _merged(kinds.get(name), _kind(value)) for name, value in game.items()}
        state = env.step(state, uniform(state))
    # entries of a position that its other entries do not imply
    optional = {"current_player": "integer", "ply": "integer", "terminated": "boolean", "truncated": "boolean"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": env.id,
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in optional.items()} | kinds,
        "required": sorted(required - optional.keys()),
    }


def _kind(value: Any) -> dict[str, Any]:
    """Return the schema of a value of a dictionary."""
    if isinstance(value, (list, tuple)):
        items: dict[str, Any] | None = functools.reduce(_merged, map(_kind, value), None)
        return {"type": "array"} | ({} if items is None else {"items": items})
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": names[type(value)]}


def _merged(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of the values of two schemas: {} of those of any type, and None of no value."""
    if one is None or one == other:
        return other
    if one.get("type") == other.get("type") == "array":
        items = [schema["items"] for schema in (one, other) if "items" in schema]
        return {"type": "array", "items": functools.reduce(_merged, items, None)}
    return {}


def reward(game: Record, oracle: Oracle | None = None, num_simulations: int = 1024) -> list[float]:
    """Return a reward for every move of a record: minus what the move gives away, so 0 for a best move.

    It suits reinforcement learning of language models: the reward of a rollout is the sum over the player's moves.
    An illegal action is worth -1, as in `te.Oracle.regret`.

    Args:
        game: the record.
        oracle: values of the game. None: exact ones where the game is solved in seconds (by `te.solve`, Shed's
            `Tablebase` or `te.equilibrium`), else estimates by playout search.
        num_simulations: simulations of that search for each position.

    Returns:
        A number <= 0 for each action of the record.

    Raises:
        ValueError, TypeError: a record that takes another course; an oracle of another game.

    Examples:
        >>> game = te.record(te.make("tic_tac_toe"), ["(0,0)", "(0,1)", "(1,1)"])  # O had to take the centre
        >>> te.text.reward(game)
        [0.0, -1.0, 0.0]
    """
    from tensor_envs.env import concat
    from tensor_envs.files.records import positions

    states = positions(game)[:-1]
    if not states:
        return []
    judge = _oracle(states[0].env, oracle, num_simulations)
    lost = list[float]()
    for first in range(0, len(states), POSITIONS):
        state = concat(states[first : first + POSITIONS])
        actions = game.actions[first : first + POSITIONS]
        lost += judge.regret(state, actions).tolist()
    return [0.0 - value for value in lost]


def rewards(
    env: Env,
    state: State,
    answers: Sequence[str],
    row: int = 0,
    oracle: Oracle | None = None,
    num_simulations: int = 1024,
) -> list[float]:
    """Return a reward for each of several answers to one position, as GRPO compares them: minus what the move loses.

    An answer that names no single legal move is worth as much as an illegal action, -1. It loses in the referee, too.

    Args:
        env: the environment.
        state: of this environment; the game must be in progress.
        answers: any texts, see `parse`.
        row: of the game.
        oracle, num_simulations: as in `reward`.

    Returns:
        A number <= 0 for each answer.

    Raises:
        ValueError: the game is over, or another argument is out of range.
        TypeError: arguments of other types; an oracle of another game.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.step(env.init(1), [0])  # X has a corner, so O must take the centre
        >>> te.text.rewards(env, state, ["move: (1,1)", "move: (0,1)", "move: (0,0)", "I resign"])
        [0.0, -1.0, -1.0, -1.0]
    """
    instance("env", env, Env)
    row = integer("row", row, 0, env.check_state(state).batch - 1)
    if isinstance(answers, str) or not isinstance(answers, Sequence):
        raise wrong_type("answers", "a sequence of texts", answers)
    for k, answer in enumerate(answers):
        instance(f"answers[{k}]", answer, str)
    if not env.legal_actions(state, row):
        raise ValueError(f"state must have a game in progress in row {row}, and it is over")
    actions = [_action_or_none(env, answer, state, row) for answer in answers]
    # a search is made once for each action
    distinct = sorted(set(actions))
    lost = list[float]()
    judge = _oracle(env, oracle, num_simulations)
    for first in range(0, len(distinct), POSITIONS):
        part = distinct[first : first + POSITIONS]
        lost += judge.regret(state[[row] * len(part)], part).tolist()
    worth = {action: 0.0 - value for action, value in zip(distinct, lost, strict=True)}
    return [worth[action] for action in actions]


def _action_or_none(env: Env, answer: str, state: State, row: int) -> int:
    """Return the action that an answer names, or ILLEGAL."""
    try:
        return parse(env, answer, state, row)
    except ValueError:
        return ILLEGAL


def _oracle(env: Env, oracle: Oracle | None, num_simulations: int) -> Oracle:
    """Return the given oracle, or that of the environment. TypeError if it has no `regret`."""
    from tensor_envs.evaluation.oracles import oracle_of  # searches, which a page in a browser does not have

    judge = oracle_of(env, num_simulations) if oracle is None else oracle
    function("oracle.regret", getattr(judge, "regret", None))
    return judge


class _Names(NamedTuple):
    """Pattern that finds names of actions in a text, the longest first, with a group for each of `actions`.

    The last action may be ILLEGAL.
    """

    pattern: re.Pattern[str]
    actions: tuple[int, ...]

    def action(self, match: re.Match[str]) -> int:
        """Return the action of a match."""
        assert match.lastindex is not None
        return self.actions[match.lastindex - 1]


@functools.lru_cache(64)
def _names(names: tuple[tuple[str, int], ...], form: str) -> _Names:
    """Return the pattern of some names. Case counts in those alone that differ by it, as "b" and "B" do in chess.

    What has another name of the pattern `form` is ILLEGAL; without one there are only these names.
    """
    # names that differ by case alone, and beginnings after which a longer name may go on
    by_lower: dict[str, set[int]] = {}
    beginnings = set[tuple[str, ...]]()  # of names, which longer ones go on from
    for name, action in names:
        by_lower.setdefault(name.lower(), set()).add(action)
        tokens = TOKEN.findall(name.lower())
        beginnings |= {tuple(tokens[:k]) for k in range(1, len(tokens))}

    def spelled(name: str) -> str:
        tokens = TOKEN.findall(name)
        text = SPELLINGS.get(tokens[0], re.escape(tokens[0]))
        for before, token in pairwise(tokens):
            is_pair = SQUARE.fullmatch(before) and SQUARE.match(token)
            is_row = before.isdecimal() and token.isdecimal()
            text += BETWEEN if is_pair else SEPARATOR if is_row else r"\s*"
            text += SPELLINGS.get(token, re.escape(token))
        # a shorter name is never read where a longer one stands
        after = r"(?!\w)(?!\.\d)(?!-\w)" if name[-1].isalnum() else ""
        if name[-1].isdecimal() and tuple(TOKEN.findall(name.lower())) in beginnings:
            after += rf"(?!{SEPARATOR}\d)"
        return f"({text if len(by_lower[name.lower()]) == 1 else f'(?-i:{text})'}){after}"

    # names by their first letter or digit: a text has few places where one can begin
    groups: dict[str, list[tuple[str, int]]] = {}
    for name, action in sorted(names, key=lambda pair: len(pair[0]), reverse=True):
        first = "" if TOKEN.findall(name)[0] in SPELLINGS else name[0].lower()
        groups.setdefault(first, []).append((spelled(name), action))
    patterns = list[str]()
    for first, spellings in groups.items():
        before = r"(?<!\w)(?<!\d\.)(?<!\w-)" if first.isalnum() else ""
        before += "(?<!-)" if first.isdecimal() else ""  # a number that is not negative
        ahead = f"(?={re.escape(first)})" if first else ""
        patterns.append(f"{before}{ahead}(?:{'|'.join(text for text, _ in spellings)})")
    actions = [action for spellings in groups.values() for _, action in spellings]
    if form:
        patterns, actions = [*patterns, rf"(?<![\w-])((?-i:{form}))(?![\w-])"], [*actions, ILLEGAL]
    return _Names(re.compile("|".join(patterns), re.IGNORECASE), tuple(actions))

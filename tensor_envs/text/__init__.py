"""Games as text, for players that read and write: language models and people at a prompt."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from tensor_envs._validate import function, instance, integer, renames, shown, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.render.moves import HIDDEN, moves_for
from tensor_envs.render.prompt import prompt_text
from tensor_envs.render.scene import names_of
from tensor_envs.text.answers import ILLEGAL, action_of
from tensor_envs.text.answers import IllegalMove as IllegalMove

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Oracle
    from tensor_envs.files.records import Record

__all__ = ["describe", "how_to_play", "parse", "prompt", "reward", "rewards", "schema"]

POSITIONS = 64  # positions in one question to an oracle
SCHEMA_GAMES = 4  # games from whose positions a schema is made
SCHEMA_PLIES = 64


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
        row: row of the game in the batch.
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
    from tensor_envs.envs.registry import env_metadata
    from tensor_envs.files.records import Record  # reads files, which a page in a browser does not

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
    game = None if state is None else env.state_to_dict(state, row)
    return names_of(env.rules, env.entry.find("render"), game)


def _known(
    state: State, row: int, player: int, moves: Sequence[tuple[int, str]], spell: Callable[[str], str]
) -> list[tuple[int, str]]:
    """Return the players and spelled names of moves, as far as a player may know them."""
    from tensor_envs.envs.registry import is_built_in  # reads files, which a page in a browser does not

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

    An answer that may mean several moves names none, since a player can be asked again.

    Case and spaces do not count, unless moves differ by case alone. "e2-e4", "e2xe4" and "e2 to e4" are read as "e2e4",
    numbers of moves as in "1.e4" are left out, and all names of `Env.string_to_action` and the synonyms of the game's
    notation are understood; "1,2" alone in a line and "[1, 2]" are "(1,2)". Behind "move:" the first move counts,
    unless "or" and another follow or a word such as "if" precedes, and without one the answer names none. A last line
    that is nothing but a move must not differ from it, and neither must a line behind "wait" or "actually".
    "Opponent's move:" is no mark, and "move: none" names no move. Without a mark, the last line must not differ from a
    first line that is nothing but a move, from the other lines of a list of moves at the end, and from a sentence such
    as "I play e4". Where a line or an answer names several, the only legal one of them is taken. A move in a question,
    behind words such as "not" and "if", or before "is bad" is not named; "I resign" names none. Elements such as
    <think> are left out. Of a long answer the last 65,536 characters are read.

    Args:
        env: the environment.
        answer: any text.
        state: state of this environment; the action must be legal in it.
        row: row of the game in the batch.

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
    return action_of(env, answer, state, row)


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
    from tensor_envs.envs.sampling import uniform  # a page in a browser does not have it

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
    from tensor_envs.envs.env import concat
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
        state: state of this environment; the game must be in progress.
        answers: any texts, see `parse`.
        row: row of the game in the batch.
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
    # searches, which a page in a browser does not have
    from tensor_envs.evaluation.oracles import oracle_of
    from tensor_envs.search.policies import MAX_SIMULATIONS

    num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    judge = oracle_of(env, num_simulations) if oracle is None else oracle
    function("oracle.regret", getattr(judge, "regret", None))
    return judge

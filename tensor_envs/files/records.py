"""Records of whole games: played from actions or files, replayed exactly, and saved in several formats."""

from __future__ import annotations

import codecs
import importlib
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from tensor_envs._validate import file_path, instance, integer, shown, wrong_type
from tensor_envs.envs.env import SEED_ROWS, Env
from tensor_envs.envs.registry import entries, env_metadata, env_of, make
from tensor_envs.envs.state import State
from tensor_envs.files.arrays import replace_file

FORMAT = "tensor_envs record 1"
JSON_LINES = ".jsonl"
NO_ACTION = -1  # illegal in every game
CHARSET = re.compile(rb"(?<![A-Za-z])CA\s*\[([^\]]{0,40})\]", re.IGNORECASE)  # charset of an SGF file
CHARSET_WITHIN = 4096  # bytes of a file's beginning
KINDS: dict[str, Any] = {  # types of a record's entries in JSON
    "game": dict, "seed": int, "row": int, "start": (dict, NoneType), "actions": list, "names": list, "players": list,
    "rewards": list, "terminated": bool, "truncated": bool, "notes": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Record:
    """Record of one game, from its first position to its last.

    Attributes:
        game: id, version, rule fields and `illegal` of the environment.
        seed, row: the game's chance, as in `Env.init`.
        start: the first position as `Env.state_to_dict` gives it; None for that of `Env.init`.
        actions: the numbers of the actions; -1 is no action of any game, and so an illegal one.
        names: their names, as `Env.legal_actions` gives them; for an illegal action its number.
        players: who played them.
        rewards: for each action, the rewards of all players.
        terminated, truncated: how the game has ended; both False if it has not.
        notes: what else was written down of the game, such as by `python -m tensor_envs.referee`: a dictionary that
            JSON can hold. It has no influence on the game.

    Examples:
        >>> game = te.record(te.make("tic_tac_toe"), [0, 3, 1, 4, 2])
        >>> game.names, game.rewards[-1], game.terminated
        (('(0,0)', '(1,0)', '(0,1)', '(1,1)', '(0,2)'), (1.0, -1.0), True)
        >>> Record.from_json(game.to_json()) == game
        True
    """

    game: dict[str, Any]
    seed: int
    row: int
    start: dict[str, Any] | None
    actions: tuple[int, ...]
    names: tuple[str, ...]
    players: tuple[int, ...]
    rewards: tuple[tuple[float, ...], ...]
    terminated: bool
    truncated: bool
    notes: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        values = asdict(self)
        notes = {} if self.notes else {"notes": None}  # a record without notes has no entry for them
        return json.dumps({"format": FORMAT, **{name: values[name] for name in values if name not in notes}})

    @staticmethod
    def from_json(text: str) -> Record:
        """Return the record of a line of JSON. ValueError for anything else."""
        instance("text", text, str)
        try:
            values = json.loads(text)
            # A record of another version has other fields, so its format is checked before any value.
            if values.pop("format") != FORMAT or {*values, "notes"} != {column.name for column in fields(Record)}:
                raise ValueError("its format is another one")
            for name, kind in KINDS.items():
                value = values.get(name, {})
                if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                    raise TypeError(f"{name} is {shown(values[name])}")
            # JSON has lists where a record has tuples, and integers where rewards are floats.
            moves = {name: tuple(values[name]) for name in ("actions", "names", "players")}
            moves["rewards"] = tuple(tuple(map(float, rewards)) for rewards in values["rewards"])
            if {*values["game"]} != {"id", "version", "illegal", "rules"} or type(values["game"]["rules"]) is not dict:
                raise ValueError(f"game is {shown(values['game'])}")
            if len({len(values) for values in moves.values()}) != 1:
                raise ValueError("actions, names, players and rewards differ in length")
            for name, kind in (("actions", int), ("names", str), ("players", int)):
                if not all(type(x) is kind for x in moves[name]):
                    raise TypeError(f"{name} are {shown(values[name])}")
            return Record(**values | moves)
        except (AttributeError, ImportError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"text must be a line of JSON that holds a record: {error}") from None


def record(
    env: Env, actions: Iterable[int | str], *, seed: int = 0, row: int = 0, start: dict[str, Any] | None = None
) -> Record:
    """Play actions and return the record of the game.

    Args:
        env: the environment.
        actions: numbers of actions, or their names, see `Env.string_to_action`. -1 is an illegal one in every game.
        seed, row: as `seed` and `first_row` in `Env.init`.
        start: the first position, see `Env.state_to_dict`; None: that of `Env.init`.

    Returns:
        The record.

    Raises:
        ValueError: an action after the end of the game or, by name, an illegal one, with the ply; an invalid start.
        TypeError: other arguments.

    Examples:
        >>> te.record(te.make("chess"), ["e4", "e5", "Nf3"]).names
        ('e2e4', 'e7e5', 'g1f3')
    """
    return _play(env, actions, seed, row, start)[0]


def replay(game: Record) -> State:
    """Play the actions of a record again.

    Args:
        game: the record.

    Returns:
        The last position, a state of one game.

    Raises:
        ValueError: the game takes another course, with the first difference; another version of the game, or an id or
            rule fields that it does not have.
        TypeError: no Record.

    Examples:
        >>> te.replay(te.record(te.make("tic_tac_toe"), [0, 3, 1, 4, 2])).terminated.item()
        True
    """
    return positions(game)[-1]


def positions(game: Record) -> list[State]:
    """Return all positions of a record, states of one game each. Errors are those of `replay`."""
    instance("game", game, Record)
    try:
        env = env_of(game.game)
    except (AttributeError, ImportError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"game must be of an environment that te.make makes, got {shown(game.game)}: {error}"
        ) from None
    again, states = _play(env, game.actions, game.seed, game.row, game.start)
    for name in ("names", "players", "rewards"):
        if len(getattr(game, name)) != len(game.actions):
            raise ValueError(f"game must have {name} of all its actions, got {len(getattr(game, name))}")
        for ply, (before, now) in enumerate(zip(getattr(game, name), getattr(again, name), strict=True)):
            if before != now:
                raise ValueError(f"game takes another course: {name} of action {ply} were {before!r}, and are {now!r}")
    if (game.terminated, game.truncated) != (again.terminated, again.truncated):
        raise ValueError("game takes another course: it ends in another way")
    return states


def save_game(game: Record, path: str | Path) -> None:
    """Write a record to a file: JSON lines (".jsonl"); PGN (".pgn") of chess; SGF (".sgf") of go and Hex; PHH (".phh")
    of Texas hold'em; MAT (".mat") of backgammon; transcripts (".txt") of Othello, connect four and tic-tac-toe, such as
    "f5d6c3". A file of MAT has turns: the moves of a turn are read in the first legal order that leads to the same
    position.

    Args:
        game: the record.
        path: path of the file. An existing file is replaced once all is written.

    Raises:
        ValueError: another ending, or one that the game has not; the record cannot be replayed; a game that only JSON
            lines can hold, such as one that an illegal action has ended.
        TypeError: other arguments.
        OSError: names the path; an existing file is unchanged.

    Examples:
        >>> import tempfile
        >>> game = te.record(te.make("chess"), ["f3", "e5", "g4", "Qh4"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     te.save_game(game, f"{folder}/game.pgn")
        ...     te.load_game(f"{folder}/game.pgn") == game
        True
    """
    instance("game", game, Record)
    path = file_path("path", path)
    text = game.to_json() + "\n"
    if path.suffix.lower() != JSON_LINES:
        env = env_of(game.game)
        write = _format(env, path).write
        rows = [env.row(state, 0) for state in _play(env, game.actions, game.seed, game.row, game.start)[1]]
        if game.actions and game.actions[-1] not in np.flatnonzero(rows[-2]["legal_action_mask"]):
            raise ValueError(f"game ends with an illegal action, which {path.suffix} cannot express")
        text = write(env.rules, game, rows)
        again = game if game.start is None else _read(path, text, env)
        if (again.terminated, again.truncated) != (game.terminated, game.truncated):
            raise ValueError(f"start has a past by which the game ends, which {path.suffix} cannot express")
    replace_file(path, [text.encode()])


def load_game(path: str | Path, env: Env | None = None) -> Record:
    """Read the first record of a file that `save_game` or another program has written.

    Args:
        path: path of the file.
        env: environment of the game, for PGN and other formats of players. None: the game of the file's ending, with
            the size of the board, the komi, stacks, blinds and limits that the file names. JSON lines name their own.

    Returns:
        The record. Of a file of PGN, SGF or PHH, its notes have "tags" (players, dates, the result), which `save_game`
        writes again; the names of the players in PHH are "players", by seat. Moves that follow an end of the game by
        our rules, such as a third repetition, are "after_end" in the notes, with a UserWarning. Where the rules end the
        game with the file's result, the notes do not repeat it.

    Raises:
        FileNotFoundError: no such file.
        ValueError: names the file, what is wrong with it and where: the move, in SGF the node (0 is the root), in PHH
            the action or the entry.
        TypeError: other arguments.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     te.save_game(te.record(te.make("othello"), [19]), f"{folder}/game.jsonl")
        ...     te.load_game(f"{folder}/game.jsonl").names
        ('d3',)
    """
    return next(_games(path, env))


def load_games(path: str | Path, env: Env | None = None) -> list[Record]:
    """Read all records of a file. PGN and SGF may have several games, other formats of players have one.

    Arguments and errors are those of `load_game`; an error names the number of the game.
    """
    return list(_games(path, env))


def _games(path: str | Path, env: Env | None) -> Iterator[Record]:
    """Yield the records of a file as `load_game` returns them."""
    path = file_path("path", path)
    if env is not None:
        instance("env", env, Env)
    if path.exists() and not path.is_file():
        raise ValueError(f"path must be a regular file, got {str(path)!r}")  # reading a pipe might never end
    data = path.read_bytes()
    is_lines = path.suffix.lower() == JSON_LINES
    number = 0
    try:
        if is_lines:
            texts = data.decode("utf-8-sig").removesuffix("\n").split("\n")
        elif not data:
            raise ValueError("it is empty")
        else:
            text = _text(data, path).replace("\r\n", "\n").replace("\r", "\n")
            format = _format(env or _home(path, text), path)
            texts = format.games(text) if hasattr(format, "games") else [text]
        for text in texts:
            yield Record.from_json(text) if is_lines else _read(path, text, env)
            number += 1
    except ValueError as error:
        place = f"game {number + 1}: " if number else ""
        raise ValueError(f"{str(path)!r} holds no game that can be read: {place}{error}") from None


def _read(path: Path, text: str, env: Env | None) -> Record:
    """Return the record of a game in the format of a path's ending. ValueError names the place in the game."""
    env = env or _home(path, text)
    format = _format(env, path)
    start, moves, *more = format.read(env.rules, text)
    found = {"notes": {}, **(more[0] if more else {})}
    notes = found.pop("notes")
    game, state = begin(env, start=start, **found)
    after_end = list[str]()
    place = ""
    try:
        for name, place in moves:
            over = game.terminated or game.truncated
            if over and hasattr(format, "goes_on") and format.goes_on(env.rules, env.row(state, 0)):
                after_end.append(name)
            else:
                game, state = extend(game, state, name)
            place = ""
    except ValueError as error:
        raise ValueError(f"{place}: {error}" if place else str(error)) from None
    if after_end:
        notes["after_end"] = after_end
        warn_after_end(path, game, after_end)
    if hasattr(format, "RESULT"):
        tags = notes.get("tags", {})
        if tags.get(format.RESULT, "") == format.result(env.rules, env.row(state, 0)):
            del tags[format.RESULT]  # it follows from the moves
    return replace(game, notes={name: value for name, value in notes.items() if value})


def warn_after_end(path: Path, game: Record, rest: Sequence[str]) -> None:
    """Warn of moves in a file that follow an end by our rules."""
    message = f"{str(path)!r}: by the rules of {env_of(game.game)!r} the game is over after {len(game.actions)} moves"
    warnings.warn(f"{message}; the rest, {len(rest)}, is in the record's notes", stacklevel=5)


def _text(data: bytes, path: Path) -> str:
    """Decode a file: by its mark of UTF-16 or UTF-8, by the encoding that SGF's CA names, as UTF-8, or as Latin-1."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    for zeros, encoding in ((data[1:8:2], "utf-16-le"), (data[:8:2], "utf-16-be")):
        if zeros and not any(zeros):
            return data.decode(encoding, errors="replace")
    named = CHARSET.search(data[:CHARSET_WITHIN]) if path.suffix.lower() == ".sgf" else None
    if named and named[1].strip().lower() not in (b"", b"utf-8", b"utf8"):
        try:
            return data.decode(named[1].decode("latin-1").strip(), errors="replace")
        except LookupError:
            raise ValueError(f"node 0: CA names an unknown encoding, {shown(named[1].decode('latin-1'))}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("utf-8-sig", errors="replace") if named else data.decode("latin-1")


def _home(path: Path, text: str) -> Env:
    """Return the game whose files have an ending, with the rules that a text names. ValueError unless there is one."""
    games = list[tuple[str, dict[str, Any]]]()
    for name, entry in entries().items():
        if path.suffix.lower() in entry.files and name == entry.id:
            module = importlib.import_module(entry.files[path.suffix.lower()])
            fields = module.rule_fields(text) if hasattr(module, "rule_fields") else {}
            games += [] if fields is None else [(name, fields)]
    if not games:
        known = sorted({ending for entry in entries().values() for ending in entry.files})
        raise ValueError(f"the file must be of a known game and end with {', '.join(known)}, got {path.suffix!r}")
    if len(games) > 1:
        names = ", ".join(name for name, _ in games)
        raise ValueError(f"env must be given for files that end with {path.suffix!r}, which may be of {names}")
    return make(games[0][0], **games[0][1])


def _format(env: Env, path: Path) -> Any:
    """Return the reader and writer of a file's ending. ValueError if the game has none."""
    if path.suffix.lower() not in env.entry.files:
        endings = " or ".join((JSON_LINES, *env.entry.files))
        raise ValueError(f"path must end with {endings} for {env.id!r}, got {path.name!r}")
    return importlib.import_module(env.entry.files[path.suffix.lower()])


def sum_rewards(rewards: Sequence[Sequence[float]], num_players: int) -> list[float]:
    """Return the sum of each player's rewards, given those of all players for each action."""
    return [float(sum(of_action[player] for of_action in rewards)) for player in range(num_players)]


def begin(env: Env, seed: int = 0, row: int = 0, start: dict[str, Any] | None = None) -> tuple[Record, State]:
    """Return the record of a game without moves, and its first position. Errors are those of `record`."""
    instance("env", env, Env)
    seed = integer("seed", seed, 0, 2**64 - 1)
    row = integer("row", row, 0, SEED_ROWS - 1)
    start = None if start is None else json.loads(json.dumps(start, default=_plain))  # later changes have no effect
    state = env.init(1, seed, first_row=row) if start is None else env.state_from_dicts([start], seed, first_row=row)
    fields = state.numpy()
    game = env_metadata(env)
    ends = bool(fields["terminated"][0]), bool(fields["truncated"][0])
    return Record(game, seed, row, start, (), (), (), (), *ends), state


def extend(game: Record, state: State, action: int | str) -> tuple[Record, State]:
    """Play an action at the last position of a record. Return the longer record and the next position."""
    env = state.env
    ply = len(game.actions)
    if game.terminated or game.truncated:
        raise ValueError(f"actions must end with the game, which is over before action {ply}: {action!r}")
    names = env.legal_actions(state)
    player = int(state.numpy()["current_player"][0])
    try:
        number = env.string_to_action(action, state) if isinstance(action, str) else action
        number = integer("it", number, NO_ACTION, env.num_actions - 1)
    except (ValueError, TypeError) as error:
        raise type(error)(f"action {ply}: {error}") from None
    state = env.step(state, [number])
    fields = state.numpy()
    longer = replace(
        game,
        actions=(*game.actions, number),
        names=(*game.names, names.get(number, str(number))),
        players=(*game.players, player),
        rewards=(*game.rewards, tuple(fields["rewards"][0].tolist())),
        terminated=bool(fields["terminated"][0]),
        truncated=bool(fields["truncated"][0]),
    )
    return longer, state


def _play(
    env: Env, actions: Iterable[int | str], seed: int, row: int, start: dict[str, Any] | None
) -> tuple[Record, list[State]]:
    """Play actions. Return the record and all positions."""
    game, state = begin(env, seed, row, start)
    if not isinstance(actions, Iterable) or isinstance(actions, (str, bytes)) or getattr(actions, "ndim", 1) == 0:
        raise wrong_type("actions", "a list of numbers or names", actions)
    states = [state]
    for action in actions:
        game, state = extend(game, state, action)
        states.append(state)
    return game, states


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy as what JSON can hold."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise wrong_type("start", "a dictionary of plain values", value)

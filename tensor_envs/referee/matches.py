"""Matches and tournaments of players of text and policies: games and their records."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tensor_envs._validate import function, instance, integer, plain, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_metadata
from tensor_envs.envs.sampling import uniform
from tensor_envs.evaluation.matches import MAX_GAMES, actions_of
from tensor_envs.evaluation.oracles import PlayoutOracle, oracle_of
from tensor_envs.files.records import NO_ACTION, Record, begin, extend, replay
from tensor_envs.referee.disguise import Disguise
from tensor_envs.referee.settings import Settings
from tensor_envs.search.policies import MAX_SIMULATIONS
from tensor_envs.text import IllegalMove, picture, reward

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Oracle
    from tensor_envs.referee.players import Participant

MAX_WAIT = 600.0  # seconds before another request; an endpoint that requests a longer wait ends the tournament
COMPUTING = threading.Lock()  # held while a policy or oracle computes, since they may not be safe in threads
MAX_PARALLEL = 256  # maximum number of games at once


class OtherTournament(ValueError):
    """Error for a record that does not belong to the tournament."""


def question_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that affect questions, except the disguise, which has its own note."""
    return {name: getattr(settings, name) for name in ("history", "legal", "tries", "opening", "limit")}


class Episode:
    """Game in progress, in which participants play some seats, and the caller plays the others.

    Args:
        env: the environment.
        seats: for each seat a participant, or None if the caller answers for it.
        seed: seed of the game, of its opening and of its disguise.
        settings: settings of the match.
        row, start: first position, see `te.record`. The disguise "symmetry" does not change a `start`.

    Attributes:
        env, seats, settings: the arguments.
        skin: disguise of the game for players of text.
        record: record of the game so far.
        state: current position.
        moves: notes of each action, None in the opening, see `play`.
    """

    def __init__(
        self,
        env: Env,
        seats: Sequence[Participant | None],
        seed: int,
        settings: Settings,
        row: int = 0,
        start: dict[str, Any] | None = None,
    ):
        self.env = env
        self.seats = tuple(seats)
        self.settings = settings
        self.skin = Disguise(env, settings.disguise, seed)
        self.record, self.state = begin(env, seed, row, start)
        self._shown_record, self._shown_state = begin(env, seed, row, start)  # under the disguise
        self.moves = list[dict[str, Any] | None]()
        self._move_notes = _new_notes()  # notes of the next move

    @property
    def over(self) -> bool:
        """Whether the game has ended or reached the limit of plies."""
        return self.record.terminated or self.record.truncated or len(self.moves) >= self.settings.limit

    @property
    def player(self) -> int:
        """Player to move."""
        return int(self.state.current_player.item())

    @property
    def notes(self) -> dict[str, Any]:
        """Notes for the record."""
        return {"disguise": self.skin.notes, "settings": question_settings(self.settings), "moves": self.moves}

    def advance(self) -> None:
        """Play until the game is over, or a seat is to move for which the caller answers."""
        while not self.over:
            if len(self.moves) < self.settings.opening:
                self._extend(int(uniform(self.state).item()), None)
                continue
            participant = self.seats[self.player]
            if participant is None:
                return
            if participant.policy is None:
                self._ask(participant)
                continue
            start = time.perf_counter()
            with COMPUTING:
                action = int(actions_of(participant.policy, self.state)[0])
            self._extend(action, {"seconds": round(time.perf_counter() - start, 6)})

    def question(self) -> str:
        """Return the question to the player to move: rules and position."""
        return f"{self.skin.rules()}\n{self.prompt()}"

    def prompt(self, player: int | None = None) -> str:
        """Return the position as text for a player, by default the player to move."""
        return self.skin.prompt(
            self._shown_state, self._shown_record if self.settings.history else None, self.settings.legal, player
        )

    def picture(self, player: int | None = None) -> bytes:
        """Return the position as a PNG for a player, by default the player to move.

        ValueError for disguises other than "symmetry", which pictures cannot have.
        """
        if {*self.skin.kinds} - {"symmetry"}:
            raise ValueError(
                f"disguise must be symmetry alone where pictures are shown, got {', '.join(self.skin.kinds)}"
            )
        return picture(self._shown_state, 0, player)

    def legal_moves(self) -> list[str]:
        """Return the names of the legal moves under the disguise; none once the game is over."""
        return (
            [] if self.over else [self.skin.spell(name) for name in self.env.legal_actions(self._shown_state).values()]
        )

    def name(self, action: int) -> str:
        """Return the name of a legal action under the disguise."""
        return self.skin.spell(self.env.action_to_string(self.skin.shown(action), self._shown_state))

    def read(self, answer: str, argument: str = "answer") -> int:
        """Return the action that an answer of the player to move names. It raises the errors of `Disguise.parse`."""
        return self.skin.parse(answer, self._shown_state, argument)

    def play(self, action: int) -> None:
        """Play an action for the player to move."""
        self._extend(action, self._move_notes)
        self._move_notes = _new_notes()

    def answer(self, answer: str, tokens: int | None = None, seconds: float = 0.0) -> str:
        """Play the move that an answer of the player to move names, and return "", or else an error message.

        If the last of `Settings.tries` answers to one position is wrong, an illegal action is played, which loses.

        Args:
            answer: the answer.
            tokens: number of its tokens, for the notes; None if it is unknown.
            seconds: time that it took, for the notes.
        """
        from tensor_envs.referee.players import MAX_ANSWER  # imported here, see `_check`

        instance("answer", answer, str)
        answer = answer.encode(errors="replace").decode()  # half of a surrogate pair cannot be sent back
        notes = self._move_notes
        notes["seconds"] = round(notes["seconds"] + seconds, 6)
        notes["answers"].append(answer[:MAX_ANSWER])
        if tokens is not None:
            notes["tokens"] = (notes["tokens"] or 0) + integer("tokens", tokens, 0, 2**53)
        if len(answer) > MAX_ANSWER:
            kind = "unparsable"
            message = f"Your answer cannot be played: it has more than {MAX_ANSWER} characters.\n"
        else:
            try:
                action = self.read(answer)
            except ValueError as error:
                is_illegal = isinstance(error, IllegalMove)
                kind = "illegal" if is_illegal else "unparsable"
                reason = "it names a move that is not legal" if is_illegal else "it does not name one move"
                message = f"Your answer was: {answer.strip()}\nIt cannot be played: {reason}.\n"
            else:
                self.play(action)
                return ""
        notes[kind] += 1
        if len(notes["answers"]) >= self.settings.tries:
            self.play(NO_ACTION)
        return message

    def _ask(self, participant: Participant) -> None:
        """Send the question to a participant until an answer is played, with the error of the last answer."""
        question = text = self.question()
        png = self.picture() if participant.image else None
        plies = len(self.moves)
        while len(self.moves) == plies:
            message = self.answer(*_request(participant, text, png, self.settings))
            text = f"{question}\n{message}"

    def _extend(self, action: int, notes: dict[str, Any] | None) -> None:
        """Play an action in the game and in the shown one, and append its notes."""
        self.record, self.state = extend(self.record, self.state, action)
        if self.skin.kinds:
            self._shown_record, self._shown_state = extend(
                self._shown_record, self._shown_state, self.skin.shown(action)
            )
        else:
            self._shown_record, self._shown_state = self.record, self.state
        self.moves.append(notes)


def _new_notes() -> dict[str, Any]:
    """Return the notes of a move before its first answer."""
    return {"seconds": 0.0, "answers": [], "illegal": 0, "unparsable": 0, "tokens": None}


def _request(player: Participant, text: str, png: bytes | None, settings: Settings) -> tuple[str, Any, float]:
    """Send a question to a player, again after failures that may pass.

    Returns the answer, the number of tokens or None, and the time of the answer in seconds.
    """
    from tensor_envs.referee.players import time_limit  # imported here, see `_check`

    for retry in range(settings.retries + 1):
        start = time.perf_counter()
        try:
            with time_limit(settings.time_limit):
                assert player.ask is not None
                answer = player.ask(text, *([] if png is None else [png]))
            break
        except (ConnectionError, TimeoutError) as error:
            retry_after = getattr(error, "retry_after", None)
            wait = float(2**retry) if retry_after is None else retry_after
            if retry == settings.retries or wait > MAX_WAIT:
                hint = "" if retry_after is None else f" (it asks to wait {retry_after:g} s)"
                kind = TimeoutError if isinstance(error, TimeoutError) else ConnectionError
                raise kind(f"the player {player.name!r} does not answer: {error}{hint}") from None
            print(f"{player.name}: {error}; the next request follows in {wait:g} s ...", file=sys.stderr, flush=True)
            time.sleep(wait)
    answer, tokens = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    if not isinstance(answer, str):
        raise TypeError(f"the player {player.name!r} must answer with a str, got {type(answer).__name__}")
    return answer, tokens, time.perf_counter() - start


def play(env: Env, players: Sequence[Participant], seed: int = 0, settings: Settings | None = None) -> Record:
    """Play one game, row 0 of a seed.

    Args:
        env: the environment.
        players: one for each seat.
        seed: seed of the game, of its opening and of its disguise.
        settings: settings of the match; None: `Settings()`.

    Returns:
        The record. Its notes have "players", the names by seat; "options" of players that have any, by name;
        "disguise"; "settings", those of questions; and "moves", for each action None in the opening, else a dictionary
        with "seconds", "answers", "illegal" and "unparsable" (numbers of answers), and "tokens" (a number or None).

    Raises:
        ValueError, TypeError: another number of players; an environment with illegal="raise"; an answer that is no
            text.
        ConnectionError, TimeoutError: a player does not answer, even after the retries.

    Examples:
        >>> from tensor_envs.referee import packaged, play
        >>> env = te.make("tic_tac_toe")
        >>> game = play(env, [packaged("uniform", env), packaged("playout:64", env)])
        >>> game.terminated, game.notes["players"]
        (True, ['uniform', 'playout:64'])
    """
    _check(env, players, settings)
    if len(players) != env.num_players:
        raise ValueError(f"players must be {env.num_players}, one for every seat, got {len(players)}")
    episode = Episode(env, players, seed, Settings() if settings is None else settings)
    episode.advance()
    notes = {"players": [player.name for player in players]} | episode.notes
    if options := _options(players):
        notes["options"] = options
    return replace(episode.record, notes=notes)


def _options(players: Sequence[Participant]) -> dict[str, Any]:
    """Return the options of the players that have any, by name."""
    return {player.name: plain(dict(player.options)) for player in players if player.options}


def _check(env: Env, players: Sequence[Participant], settings: Settings | None) -> None:
    """Raise TypeError or ValueError for wrong arguments of `play` and `tournament`."""
    # imported here, since the package's longest chain of imports is at its limit
    from tensor_envs.referee.players import Participant

    instance("env", env, Env)
    if env.illegal != "lose":
        raise ValueError(f"env must have illegal='lose', by which wrong answers lose, got {env.illegal!r}")
    instance("players", players, Sequence)
    for k, player in enumerate(players):
        instance(f"players[{k}]", player, Participant)
        instance(f"players[{k}].name", player.name, str)
        if (player.policy is None) == (player.ask is None):
            raise ValueError(f"players[{k}] must have one of policy and ask, got {shown(player)}")
        kind = "ask" if player.policy is None else "policy"
        function(f"players[{k}].{kind}", getattr(player, kind))
        instance(f"players[{k}].options", player.options, Mapping)
    if settings is not None:
        instance("settings", settings, Settings)


def tournament(
    env: Env,
    players: Sequence[Participant],
    games: int = 2,
    seed: int = 0,
    settings: Settings | None = None,
    oracle: Oracle | None = None,
    num_simulations: int = 1024,
    played: Sequence[Record] = (),
    parallel: int = 1,
) -> Iterator[Record]:
    """Play a round robin. The game is solved first if it needs to be and no oracle is passed.

    Args:
        env: the environment.
        players: two or more players with different names. Every group of as many players as the game has seats, or all
            players if they are fewer, plays `games` games; in a game for one player, all play the same seeds.
        games: number of games of each group, a multiple of its size, so that each deal is played with all rotations of
            the seats.
        seed: seed of the first game.
        settings: settings of the matches; None: `Settings()`.
        oracle: values for the regret of each move; None: as in `te.text.reward`.
        num_simulations: as in `te.text.reward`.
        played: records of this tournament from an earlier run, whose games are not played again.
        parallel: number of games at once, each in a thread, so that several players can answer at a time. Only one
            thread computes at a time.

    Returns:
        Iterator of the records, each as soon as its game ends. After an error no further game is started, and the error
            is raised when the games in progress have ended. The records are those of `play`, and their notes also have
            "regret", a number for each action (None in the opening), and "oracle".

    Raises:
        ValueError, TypeError: fewer players, equal names, or another number of games; arguments that `play` refuses; a
            record of another tournament.
        ConnectionError, TimeoutError: from the iterator, as in `play`.

    Examples:
        >>> from tensor_envs.referee import packaged, ratings, tournament
        >>> env = te.make("tic_tac_toe")
        >>> players = [packaged(name, env) for name in ("perfect", "uniform")]
        >>> records = list(tournament(env, players, games=8))
        >>> bool(ratings(records).elo[0] > 0), max(records[0].notes["regret"][2::2]) >= 0
        (True, True)
    """
    _check(env, players, settings)
    # Records identify players only by their names.
    names = [player.name for player in players]
    if len(names) < 2 or len({*names}) < len(names):
        raise ValueError(f"players must be two or more with different names, got {', '.join(names) or 'none'}")
    games = integer("games", games, 1, MAX_GAMES)
    # Every group of players plays each deal once in every rotation of the seats.
    count = env.num_players
    size = min(count, len(names))  # number of players of a group
    if games % size:
        multiple = "even" if size == 2 else f"a multiple of {size}"
        raise ValueError(f"games must be {multiple}, so that seats are exchanged, got {games}")
    # Deals have consecutive seeds from this one on.
    seed = integer("seed", seed, 0, 2**64 - games)
    parallel = integer("parallel", parallel, 1, MAX_PARALLEL)
    num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    instance("played", played, Sequence)
    judge = oracle_of(env, num_simulations) if oracle is None else oracle
    # In a game for one player, all play the same seeds.
    if count == 1:
        schedule = [(seed + game, [player]) for game in range(games) for player in players]
    else:
        schedule = [
            (seed + game // size, [group[(seat + game) % size] for seat in range(count)])
            for group in combinations(players, size)
            for game in range(games)
        ]
    # Find the games of an earlier run in the schedule. A record that is not there is of another tournament.
    done = dict[tuple[int, tuple[str, ...]], Record]()
    options = _options(players)
    keys = {_key(*scheduled) for scheduled in schedule}
    for k, game in enumerate(played):
        instance(f"played[{k}]", game, Record)
        key = _key_of_record(f"played[{k}]", game, env, Settings() if settings is None else settings, judge, options)
        if key not in keys or key in done:
            rest = "one of the schedule" if key not in keys else "in the list once"
            raise OtherTournament(f"played[{k}] must be {rest}, got seed {key[0]} with {', '.join(key[1])}")
        done[key] = game

    def play_scheduled(game_seed: int, seats: Sequence[Participant]) -> Record:
        """Return the record of a game of the schedule, from the earlier run or played now."""
        key = _key(game_seed, seats)
        return done[key] if key in done else _with_regret(play(env, seats, game_seed, settings), judge)

    games_to_play = (partial(play_scheduled, *scheduled) for scheduled in schedule)
    return (game() for game in games_to_play) if parallel == 1 else _play_in_threads(games_to_play, parallel)


def _play_in_threads(games: Iterator[Callable[[], Record]], parallel: int) -> Iterator[Record]:
    """Play games in threads. Yield the records as games end, and raise the first error after the last of them."""
    failure: BaseException | None = None
    running = set[Future[Record]]()
    with ThreadPoolExecutor(parallel) as pool:
        while True:
            while failure is None and len(running) < parallel and (game := next(games, None)) is not None:
                running.add(pool.submit(game))
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                if (error := future.exception()) is None:
                    yield future.result()
                else:
                    failure = failure or error
    if failure is not None:
        raise failure


def _key(seed: int, seats: Sequence[Participant]) -> tuple[int, tuple[str, ...]]:
    """Return the key of a game in a tournament: its seed, and the names of the players by seat."""
    return seed, tuple(player.name for player in seats)


def _key_of_record(
    name: str, game: Record, env: Env, settings: Settings, judge: Oracle, options: Mapping[str, Any]
) -> tuple[int, tuple[str, ...]]:
    """Return the key of a record, the argument `name`. OtherTournament unless it is of such a tournament."""
    notes = game.notes
    disguise = notes.get("disguise")
    # Compare each property of the record with that of the tournament.
    compared: dict[str, tuple[Any, Any]] = {
        "game": (game.game, env_metadata(env)),
        "start": ((game.row, game.start), (0, None)),
        "settings": (notes.get("settings"), question_settings(settings)),
        "disguise": (disguise.get("kinds") if isinstance(disguise, dict) else None, list(settings.disguise)),
    }
    names = notes.get("players")
    if isinstance(names, list):
        compared["options"] = notes.get("options", {}), {who: options[who] for who in names if who in options}
    # Exact oracles have equal values, so only searches are compared.
    if isinstance(judge, PlayoutOracle) or "PlayoutOracle" in str(notes.get("oracle")):
        compared["oracle"] = notes.get("oracle"), repr(judge)
    for kind, (actual, expected) in compared.items():
        if actual != expected:
            raise OtherTournament(f"{name} must have the {kind} {shown(expected)}, got {shown(actual)}")
    lengths = [
        len(value) if isinstance(value := notes.get(kind), list) else None for kind in ("players", "moves", "regret")
    ]
    if lengths != [env.num_players, len(game.actions), len(game.actions)]:
        raise OtherTournament(f"{name} must have notes of its players, and of each of its moves")
    try:
        replay(game)
    except ValueError as error:
        raise OtherTournament(f"{name} cannot be replayed: {error}") from None
    return game.seed, tuple(map(str, notes["players"]))


def _with_regret(game: Record, judge: Oracle) -> Record:
    """Return a record with the regret of every move in its notes."""
    with COMPUTING:
        rewards = reward(game, judge)
    pairs = zip(rewards, game.notes["moves"], strict=True)
    regrets = [0.0 - value if move is not None else None for value, move in pairs]
    return replace(game, notes=game.notes | {"regret": regrets, "oracle": repr(judge)})

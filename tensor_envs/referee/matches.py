"""Matches of players that read and write: games and their records."""

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

MAX_WAIT = 600.0  # seconds before another request; an endpoint that asks for more ends the tournament
COMPUTING = threading.Lock()  # policies and oracles may have memory of their own
MAX_PARALLEL = 256  # games at once


class OtherTournament(ValueError):
    """Record among those played that does not belong to the tournament."""


def asked_by(settings: Settings) -> dict[str, Any]:
    """Return the settings that change what players are asked, but the disguise, which has a note of its own."""
    return {name: getattr(settings, name) for name in ("history", "legal", "tries", "opening", "limit")}


class Episode:
    """Game in which participants play their seats, and answers from outside the others.

    Args:
        env: the environment.
        seats: for each seat a participant, or None for answers from outside.
        seed: seed of the game, of its opening and of its disguise.
        settings: settings of the match.
        row, start: first position, see `te.record`; one that `start` gives has no disguise by symmetry.

    Attributes:
        env, seats, settings: the arguments.
        skin: disguise in which players of text see the game.
        record: the game so far.
        state: its last position.
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
        self._seen, self._image = begin(env, seed, row, start)  # the game as players of text see it
        self.moves = list[dict[str, Any] | None]()
        self._noted = _unanswered()

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
        return {"disguise": self.skin.notes, "settings": asked_by(self.settings), "moves": self.moves}

    def advance(self) -> None:
        """Play until the game is over, or a player is to move whose moves come from another program."""
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
        """Return rules and position as the player to move is asked."""
        return f"{self.skin.rules()}\n{self.prompt()}"

    def prompt(self, player: int | None = None) -> str:
        """Return the position as text for a player, by default the one to move."""
        return self.skin.prompt(self._image, self._seen if self.settings.history else None, self.settings.legal, player)

    def picture(self, player: int | None = None) -> bytes:
        """Return the position as a PNG for a player, by default the one to move. ValueError in a disguise of labels."""
        if {*self.skin.kinds} - {"symmetry"}:
            raise ValueError(
                f"disguise must be symmetry alone where pictures are shown, got {', '.join(self.skin.kinds)}"
            )
        return picture(self._image, 0, player)

    def legal_moves(self) -> list[str]:
        """Return the names of the legal moves as players of text read them; none once the game is over."""
        return [] if self.over else [self.skin.spell(name) for name in self.env.legal_actions(self._image).values()]

    def name(self, action: int) -> str:
        """Return the name of a legal action as players of text read it."""
        return self.skin.spell(self.env.action_to_string(self.skin.shown(action), self._image))

    def read(self, answer: str, argument: str = "answer") -> int:
        """Return the action that an answer of the player to move names. Errors are those of `Disguise.parse`."""
        return self.skin.parse(answer, self._image, argument)

    def play(self, action: int) -> None:
        """Play an action for the player to move."""
        self._extend(action, self._noted)
        self._noted = _unanswered()

    def answer(self, answer: str, tokens: int | None = None, seconds: float = 0.0) -> str:
        """Play the move that an answer of the player to move names. Return what is wrong with it, or "".

        The last of `Settings.tries` wrong answers to one position is an illegal action, which loses.
        """
        from tensor_envs.referee.players import MAX_ANSWER  # agents, which make the chain of imports too long above

        instance("answer", answer, str)
        answer = answer.encode(errors="replace").decode()  # half an emoji cannot be sent back
        noted = self._noted
        noted["seconds"] = round(noted["seconds"] + seconds, 6)
        noted["answers"].append(answer[:MAX_ANSWER])
        if tokens is not None:
            noted["tokens"] = (noted["tokens"] or 0) + integer("tokens", tokens, 0, 2**53)
        if len(answer) > MAX_ANSWER:
            kind = "unparsable"
            wrong = f"Your answer cannot be played: it has more than {MAX_ANSWER} characters.\n"
        else:
            try:
                action = self.read(answer)
            except ValueError as error:
                is_illegal = isinstance(error, IllegalMove)
                kind = "illegal" if is_illegal else "unparsable"
                reason = "it names a move that is not legal" if is_illegal else "it does not name one move"
                wrong = f"Your answer was: {answer.strip()}\nIt cannot be played: {reason}.\n"
            else:
                self.play(action)
                return ""
        noted[kind] += 1
        if len(noted["answers"]) >= self.settings.tries:
            self.play(NO_ACTION)
        return wrong

    def _ask(self, participant: Participant) -> None:
        """Ask a participant until an answer is played."""
        question = text = self.question()
        png = self.picture() if participant.image else None
        plies = len(self.moves)
        while len(self.moves) == plies:
            wrong = self.answer(*_answer(participant, text, png, self.settings))
            text = f"{question}\n{wrong}"

    def _extend(self, action: int, noted: dict[str, Any] | None) -> None:
        self.record, self.state = extend(self.record, self.state, action)
        if self.skin.kinds:
            self._seen, self._image = extend(self._seen, self._image, self.skin.shown(action))
        else:
            self._seen, self._image = self.record, self.state
        self.moves.append(noted)


def _unanswered() -> dict[str, Any]:
    """Return the notes of a move before its first answer."""
    return {"seconds": 0.0, "answers": [], "illegal": 0, "unparsable": 0, "tokens": None}


def _answer(player: Participant, text: str, png: bytes | None, settings: Settings) -> tuple[str, Any, float]:
    """Ask a player until it answers. Return the answer, the number of tokens or None, and the answer's seconds."""
    from tensor_envs.referee.players import time_limit  # see `Episode.answer`

    for retry in range(settings.retries + 1):
        start = time.perf_counter()
        try:
            with time_limit(settings.time_limit):
                assert player.ask is not None
                answer = player.ask(text, *([] if png is None else [png]))
            break
        except (ConnectionError, TimeoutError) as error:
            named = getattr(error, "retry_after", None)
            wait = float(2**retry) if named is None else named
            if retry == settings.retries or wait > MAX_WAIT:
                asked = "" if named is None else f" (it asks to wait {named:g} s)"
                kind = TimeoutError if isinstance(error, TimeoutError) else ConnectionError
                raise kind(f"the player {player.name!r} does not answer: {error}{asked}") from None
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
        settings: default: `Settings()`.

    Returns:
        The record. Its notes have "players", the names by seat; "options" of players that have any, by name;
        "disguise"; "settings", what players are asked; and "moves", for each action None in the opening, else
        "seconds", "answers", "illegal" and "unparsable" (numbers of answers), and "tokens" or None.

    Raises:
        ValueError, TypeError: another number of players; an environment that raises errors for illegal actions; an
            answer that is no text.
        ConnectionError, TimeoutError: a player that does not answer, also after the retries.

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
    from tensor_envs.referee.players import Participant  # agents, which make the chain of imports too long above

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
    """Play a round robin; solve the game first, if nothing else judges the moves.

    Args:
        env: the environment.
        players: two or more, with different names. Each group of as many players as the game has seats, or all where
            they are fewer, fills the seats in turn; in a game for one player everyone plays the same seeds.
        games: number of games of each group, a multiple of its size, so that each deal is played with all rotations of
            the seats.
        seed: seed of the first game.
        settings: default: `Settings()`.
        oracle: values for the regret of each move; None: as in `te.text.reward`.
        num_simulations: as in `te.text.reward`.
        played: records of this tournament, such as those of a run that an error has ended; these games are not played
            again.
        parallel: number of games at once, each in a thread, so that several players can be asked at a time. One thread
            computes at a time.

    Returns:
        Iterator of the records, each as soon as its game ends. After an error no game is started, and it is raised
            once the games in progress have ended. The records are as by `play`, and their notes also have
            "regret", a number for each action (None in the opening), and "oracle".

    Raises:
        ValueError, TypeError: fewer players, names that are not different, or another number of games; arguments that
            `play` refuses; a record of another tournament among those played.
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
    # names are all that tells players apart in records
    names = [player.name for player in players]
    if len(names) < 2 or len({*names}) < len(names):
        raise ValueError(f"players must be two or more with different names, got {', '.join(names) or 'none'}")
    games = integer("games", games, 1, MAX_GAMES)
    # every group of players plays each deal once in every rotation of the seats
    count = env.num_players
    size = min(count, len(names))  # players of a group that plays together
    if games % size:
        multiple = "even" if size == 2 else f"a multiple of {size}"
        raise ValueError(f"games must be {multiple}, so that seats are exchanged, got {games}")
    # deals have the seeds from this one on
    seed = integer("seed", seed, 0, 2**64 - games)
    parallel = integer("parallel", parallel, 1, MAX_PARALLEL)
    num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    instance("played", played, Sequence)
    judge = oracle_of(env, num_simulations) if oracle is None else oracle
    if count == 1:
        schedule = [(seed + game, [player]) for game in range(games) for player in players]
    else:
        schedule = [
            (seed + game // size, [group[(seat + game) % size] for seat in range(count)])
            for group in combinations(players, size)
            for game in range(games)
        ]
    # games of an earlier run take their places in the schedule, or show that it was another tournament
    done = dict[tuple[int, tuple[str, ...]], Record]()
    options = _options(players)
    keys = {_key(*of_schedule) for of_schedule in schedule}
    for k, game in enumerate(played):
        instance(f"played[{k}]", game, Record)
        key = _fitting(f"played[{k}]", game, env, Settings() if settings is None else settings, judge, options)
        if key not in keys or key in done:
            rest = "one of the schedule" if key not in keys else "in the list once"
            raise OtherTournament(f"played[{k}] must be {rest}, got seed {key[0]} with {', '.join(key[1])}")
        done[key] = game

    # a game is played when its turn comes, on as many threads as are asked for
    def played_game(number: int, seats: Sequence[Participant]) -> Record:
        key = _key(number, seats)
        return done[key] if key in done else _judged(play(env, seats, number, settings), judge)

    games_to_play = (partial(played_game, *of_schedule) for of_schedule in schedule)
    return (game() for game in games_to_play) if parallel == 1 else _in_threads(games_to_play, parallel)


def _in_threads(games: Iterator[Callable[[], Record]], parallel: int) -> Iterator[Record]:
    """Play games in threads. Return the records as the games end; raise the first error after the last of them."""
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
    """Return the key of a game in a tournament: its seed and the players by seat."""
    return seed, tuple(player.name for player in seats)


def _fitting(
    name: str, game: Record, env: Env, settings: Settings, judge: Oracle, options: Mapping[str, Any]
) -> tuple[int, tuple[str, ...]]:
    """Return the key of a record. OtherTournament unless a tournament of this kind has played it."""
    notes = game.notes
    disguise = notes.get("disguise")
    wanted: dict[str, tuple[Any, Any]] = {
        "game": (game.game, env_metadata(env)),
        "start": ((game.row, game.start), (0, None)),
        "settings": (notes.get("settings"), asked_by(settings)),
        "disguise": (disguise.get("kinds") if isinstance(disguise, dict) else None, list(settings.disguise)),
    }
    names = notes.get("players")
    if isinstance(names, list):
        wanted["options"] = notes.get("options", {}), {who: options[who] for who in names if who in options}
    if isinstance(judge, PlayoutOracle) or "PlayoutOracle" in str(notes.get("oracle")):  # exact values agree
        wanted["oracle"] = notes.get("oracle"), repr(judge)
    for kind, (came, allowed) in wanted.items():
        if came != allowed:
            raise OtherTournament(f"{name} must have the {kind} {shown(allowed)}, got {shown(came)}")
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


def _judged(game: Record, judge: Oracle) -> Record:
    """Return a record with the regret of every move in its notes."""
    with COMPUTING:
        rewards = reward(game, judge)
    pairs = zip(rewards, game.notes["moves"], strict=True)
    lost = [0.0 - value if noted is not None else None for value, noted in pairs]
    return replace(game, notes=game.notes | {"regret": lost, "oracle": repr(judge)})

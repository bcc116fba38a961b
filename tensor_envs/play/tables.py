"""Tables of the play page: games offered, seats, turns, and the information that a viewer may have."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import numpy as np

from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_metadata
from tensor_envs.envs.state import State
from tensor_envs.files.records import JSON_LINES, NO_ACTION, load_game, record, save_game
from tensor_envs.lab.about import about
from tensor_envs.play import opponents
from tensor_envs.play.exact import PositionSolver
from tensor_envs.play.searches import Searched, Searcher, Searchers
from tensor_envs.render.scene import scene
from tensor_envs.text import compose, describe
from tensor_envs.web.example import example
from tensor_envs.web.form import env_of, fields_of, form_id, name_of
from tensor_envs.web.variants import (
    LEVELS,
    PERFECT,
    PERSON,
    SIMULATIONS,
    TRAINED,
    UNIFORM,
    VARIANTS,
    Variant,
    catalogue_entry,
    has_perfect_play,
    is_fair,
    is_searchable,
    kinds,
    variant,
)

MAX_TABLES = 64  # the least recently used one is closed for a new one
MAX_CUSTOM = 16  # games of the form; a discarded one is made again from its name
MAX_SEED = 2**53 - 1  # JavaScript represents integers exactly up to this one
NOT_SHOWN = "a move, not shown"
GLANCE = 0.05  # seconds that a request waits for a search, which most games need not
T = TypeVar("T")


class BadRequest(Exception):
    """Error of a request, which changes nothing: an HTTP status and a sentence."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class PlayedMove(NamedTuple):
    """Entry of a table's log."""

    ply: int
    player: int
    action: int
    name: str
    written: str  # in the game's own notation; "" if it has none


class Table:
    """Game in progress, a batch of one, and its seats.

    Attributes:
        asking: seat of the person whose request is answered, at a table with invitations; None where all look at one
            screen.
    """

    def __init__(
        self,
        key: str,
        env: Env,
        seats: Sequence[str],
        seed: int,
        solver: opponents.OracleSolver | None = None,
        variant: Variant | None = None,
        actions: Sequence[int] = (),
        positions: PositionSolver | None = None,
        exploration: float | None = None,
        searcher: Searcher | None = None,
    ):
        """Start a game and play `actions`.

        Raises:
            BadRequest: an action is illegal.
        """
        self.key = key
        self.env = env
        self.seats = seats
        self.seed = seed
        self.variant = variant or VARIANTS[key]
        self.exploration = exploration
        self.searcher = searcher or Searcher()
        self.choose: dict[str, opponents.Choose] = {UNIFORM: opponents.at_random}
        if TRAINED in seats:
            self.choose[TRAINED] = opponents.trained(env.id)
        self.solver = (solver or opponents.OracleSolver()) if has_perfect_play(env) else None
        if self.solver is not None and PERFECT in seats:
            solver = self.solver
            self.choose[PERFECT] = opponents.perfect(seed, solver)
            if env.entry.oracle:
                solver.start(env)
        self.positions = positions or PositionSolver()
        self.waiting = False
        self.asking: int | None = None
        self._begin(actions)

    def _begin(self, actions: Sequence[int]) -> None:
        self.state = self.env.init(1, self.seed)
        self.returns = np.zeros(self.env.num_players)
        self.moves: list[PlayedMove] = []
        self.judged: dict[int, int] = {}  # numbers of searches of the positions of a finished game, by ply
        self.past: list[State] = []  # before each of the moves
        self.before: list[tuple[dict[str, Any], int]] = []  # as dictionaries, with the actions
        self._read()
        for action in actions:
            self._check_legal(action)
            self._play(action)

    def _read(self) -> None:
        values = self.state.numpy()
        self.over = bool(values["terminated"][0] or values["truncated"][0])
        self.truncated = bool(values["truncated"][0])
        self.player = None if self.over else int(values["current_player"][0])
        self.legal = self.env.legal_actions(self.state)
        self.returns = self.returns + values["rewards"][0]
        self.searches: dict[int, int] = {}  # numbers of searches of this position, by simulations

    @property
    def is_persons_turn(self) -> bool:
        return self.player is not None and self.seats[self.player] == PERSON

    @property
    def may_act(self) -> bool:
        """Return whether whoever asks may act now."""
        return self.is_persons_turn and self.asking in (None, self.player)

    def _check_may_act(self) -> None:
        if not self.may_act:
            who = "who sits elsewhere" if self.is_persons_turn else "whom the computer plays"
            raise BadRequest(409, f"it is the turn of player {self.player}, {who}")

    def act(self, ply: int, action: int) -> None:
        """Play a person's action."""
        self._check_turn(ply)
        self._check_may_act()
        self._check_legal(action)
        self._play(action)

    def advance(self, ply: int) -> None:
        """Play the computer's action, unless it is still being computed, or a person elsewhere is to move."""
        self._check_turn(ply)
        if self.player is None or self.may_act:
            raise BadRequest(409, f"it is the turn of player {self.player}, a person")
        if self.is_persons_turn:
            return
        kind = self.seats[self.player]
        if kind in LEVELS:
            searched = self._search(LEVELS[kind])
            action = None if searched is None else searched.action
        else:
            action = self.choose[kind](self.state)
        self.waiting = action is None
        if action is not None:
            self._play(action)

    def undo(self, ply: int) -> None:
        """Return to the last position with a person to move."""
        self._check_ply(ply)
        if self.asking is not None:
            raise BadRequest(409, "no move is taken back at a table with invitations")
        persons = [move.ply for move in self.moves if self.seats[move.player] == PERSON]
        if not persons:
            raise BadRequest(409, "no person has moved yet")
        self._begin([move.action for move in self.moves[: persons[-1]]])

    def _check_legal(self, action: int) -> None:
        if action not in self.legal:
            allowed = f"legal are {', '.join(map(str, self.legal))}" if self.legal else "the game is over"
            raise BadRequest(400, f"action {action} is illegal here; {allowed}")

    def _check_turn(self, ply: int) -> None:
        if self.over:
            raise BadRequest(409, "the game is over")
        self._check_ply(ply)

    def _check_searched(self, what: str) -> None:
        """Raise BadRequest if the game is too large to search, or if a search would use hidden information."""
        if self.env.engine.game.has_memory or not is_fair(self.env):
            raise BadRequest(404, f"there is no {what} for {self.key}")

    def _check_ply(self, ply: int) -> None:
        if ply != len(self.moves):
            raise BadRequest(409, f"the game is at ply {len(self.moves)}, not at {ply}")

    def _play(self, action: int) -> None:
        assert self.player is not None and action in self.legal
        self.past.append(self.state)
        self.before.append((self.env.state_to_dict(self.state), action))
        notation = self.env.entry.load("notation")
        written = ""
        if hasattr(notation, "san"):
            written = notation.san(self.env.rules, action, self.env.row(self.state, 0), [*self.legal])
        self.moves.append(PlayedMove(len(self.moves), self.player, action, self.legal[action], written))
        self.state = self.env.step(self.state, [action])
        self._read()

    # *** view ***

    @property
    def viewer(self) -> int | None:
        """Return the seat whose observation is shown; None shows all, if no person plays or no secret is left.

        With several persons at one screen it is the one to move where hands are secret. Otherwise it is the first,
        which keeps the board's orientation.
        """
        persons = [seat for seat, kind in enumerate(self.seats) if kind == PERSON]
        if not persons or (self.variant.secret and self.over):
            return None
        if self.asking is not None:
            return self.asking
        return self.player if self.variant.secret and self.is_persons_turn else persons[0]

    @property
    def position(self) -> dict[str, Any] | None:
        """Return what reproduces the position; None while the seed would reveal cards or chance, or others play on."""
        spec = self.env.spec
        if not self.over and self.asking is not None:
            return None
        if not self.over and (spec.chance or not spec.perfect_information):
            return None
        actions = [move.action for move in self.moves]
        return {"game": self.key, "seats": list(self.seats), "seed": self.seed, "actions": actions}

    def view(self) -> dict[str, Any]:
        """Return all that the page shows."""
        legal = self.legal if self.may_act else {}
        elsewhere = self.is_persons_turn and not self.may_act
        shown = self._scene(len(self.moves), legal)
        return {
            **shown,
            "game": self.key,
            "position": self.position,
            "files": [] if self.position is None else self.endings,
            "secret": self.variant.secret and self.seats.count(PERSON) > 1 and self.asking is None,
            "seat": self.asking,
            "seed": self.seed if self.over else None,  # hidden cards follow from it
            "waiting": self.waiting or elsewhere,
            "compiling": self.waiting and self.searcher.is_compiling,
            "seats": list(self.seats),
            "ply": len(self.moves),
            "player": self.player,
            "computer": not (self.over or self.may_act),
            "viewer": self.viewer,
            "actions": [{"action": a, "name": name} for a, name in legal.items()],
            "moves": [
                {"ply": move.ply, "player": move.player, "name": name, "written": move.written}
                for move, name in zip(self.moves, shown["moves"], strict=True)
            ],
            "over": self.over,
            "truncated": self.truncated,
            "returns": self.returns.tolist(),
        }

    def _scene(self, ply: int, legal: Collection[int] = ()) -> dict[str, Any]:
        """Return what is shown of the position after so many plies, see `render/scene.py`.

        In a custom game with secrets all moves of other players are hidden.
        """
        viewer = self.viewer
        names = [move.name for move in self.moves[:ply]]
        state = self._at(ply)
        past = self.before[:ply]
        if self.variant.custom and self.variant.secret and viewer is not None:
            names = [move.name if move.player == viewer else NOT_SHOWN for move in self.moves[:ply]]
            past = []
            if names and names[-1] != NOT_SHOWN:
                past = self.before[ply - 1 : ply]
        render = self.env.entry.load("render")
        game = self.env.state_to_dict(state)
        return scene(
            self.env.rules, render, game, viewer, names, list(legal), past, self.over and ply == len(self.moves)
        )

    def at(self, ply: int) -> dict[str, Any]:
        """Return the picture and the texts of an earlier position."""
        self._check_past(ply)
        return self._scene(ply)

    def prompt(self, ply: int) -> dict[str, Any]:
        """Return the prompt of a position, see `te.text.prompt`: of the player to move, with secrets of the viewer."""
        self._check_past(ply)
        player = self.viewer if self.variant.secret else None
        moves = [(move.player, move.name) for move in self.moves[:ply]]
        return {"prompt": compose(self._at(ply), 0, player, moves, True, self.env.id, str)}

    def _check_past(self, ply: int) -> None:
        if not 0 <= ply <= len(self.moves):
            raise BadRequest(404, f"there is no ply {ply}; the game is at ply {len(self.moves)}")

    def _at(self, ply: int) -> State:
        """Return the position after so many plies."""
        return self.state if ply == len(self.moves) else self.past[ply]

    def hint(self, ply: int) -> dict[str, Any]:
        """Return the best actions for the person to move and their value: exact if they are known, else by search."""
        self._check_turn(ply)
        self._check_may_act()
        self._check_searched("hint")
        return self._advice()._asdict()

    def _advice(self) -> opponents.Advice:
        waiting = False
        if self.solver is not None and self.env.entry.oracle:
            solved = opponents.solved(self.state, self.solver)
            if solved is not None:
                return solved
            waiting = True
        elif is_searchable(self.env):
            exact, waiting = self.positions.ask(self.state)
            if exact is not None:
                return opponents.Advice(exact.best, exact.value, True, exact.distance)
        searched = self._search(SIMULATIONS)
        if searched is None:
            return opponents.Advice([], None, waiting=True, compiling=self.searcher.is_compiling)
        return opponents.Advice([searched.action], searched.value, searched.proven, waiting=waiting)

    def judge(self, ply: int) -> dict[str, Any]:
        """Return what the player to move could expect at a ply of a finished game, and the best action, by search."""
        self._check_past(ply)
        if not self.over:
            raise BadRequest(409, "a game is reviewed when it is over")
        self._check_searched("review")
        if ply == len(self.moves):
            return {"returns": self.returns.tolist(), "waiting": False}
        state = self._at(ply)
        if ply not in self.judged:
            self.judged[ply] = self.searcher.start(state, SIMULATIONS, self.exploration)
        found = self.searcher.answer(self.judged[ply], GLANCE)
        if found is None:
            return {"waiting": True}
        return {"value": found.value, "best": self.env.legal_actions(state)[found.action], "waiting": False}

    def file(self, ending: str) -> dict[str, str]:
        """Return the text of a file of the game, see `te.save_game`."""
        if self.position is None:
            raise BadRequest(409, "the game is saved when it is over: its seed would give hidden things away")
        if ending not in self.endings:
            raise BadRequest(404, f"games of {self.key} are saved as {', '.join(self.endings)}, not as {ending}")
        played = record(self.env, [move.action for move in self.moves], seed=self.seed)
        with TemporaryDirectory(prefix="tensor_envs-") as folder:
            path = Path(folder) / f"game{ending}"
            or_bad_request(save_game, played, path)
            return {"text": path.read_text()}

    @property
    def endings(self) -> list[str]:
        """Return the endings of files of this game."""
        return [JSON_LINES, *self.env.entry.files]

    def _search(self, num_simulations: int) -> Searched | None:
        """Return the result of a playout search of the position, or None while it is being searched."""
        if num_simulations not in self.searches:
            self.searches[num_simulations] = self.searcher.start(self.state, num_simulations, self.exploration)
        return self.searcher.answer(self.searches[num_simulations], GLANCE)


class Tables:
    """All tables of a server. All calls are made on one thread, the only one that may use tinygrad.

    exploration: weight of the exploration of playout search at these tables; None is 4.
    invites: address of the page, to which keys of seats are appended, if every person has a screen; None: one screen.
    """

    def __init__(self, exploration: float | None = None, invites: str | None = None) -> None:
        self.exploration = exploration
        self.invites = invites
        self.seats: dict[str, tuple[str, int]] = {}  # the table and the seat of a key
        self.variants = dict(VARIANTS)
        self.open: OrderedDict[str, Table] = OrderedDict()
        self.envs: dict[str, Env] = {}  # an environment compiles its kernels once
        self.pictures: dict[str, str] = {}
        self.custom: OrderedDict[str, tuple[Variant, Env]] = OrderedDict()
        self.solver = opponents.OracleSolver()
        self.positions = PositionSolver()
        self.searchers = Searchers()

    def close(self) -> None:
        """End the processes that solve."""
        self.solver.close()
        self.positions.close()
        self.searchers.close()

    def env(self, key: str) -> Env:
        if key not in self.envs:
            self.envs[key] = variant(key)[1]
        return self.envs[key]

    def add(self, name: str) -> None:
        """Offer a custom game.

        Raises:
            ValueError: there is no picture of it for a player.
        """
        game_variant, env = variant(name)
        try:
            env.render(env.init(1), 0, 0)
            env.legal_actions(env.init(1))
        except NotImplementedError as error:
            raise ValueError(f"--env {name} cannot be shown: {error}") from None
        self.variants[name], self.envs[name] = game_variant, env

    def catalogue(self) -> dict[str, Any]:
        """Return the games and their kinds of players."""
        return {"games": [self.entry(name) for name in self.variants], "server": True, "python": True}

    # *** the form; `web/python/playground.py` has the one of a static page ***

    @property
    def bases(self) -> dict[str, Variant]:
        """Return the ids with which names of the form's games begin, and an offered game of each."""
        return {form_id(self.env(name)): self.variants[name] for name in reversed(self.variants)}

    def game(self, name: str) -> tuple[Variant, Env]:
        """Return an offered game, or one of the form by its name.

        Raises:
            BadRequest: there is none.
        """
        if name in self.variants:
            return self.variants[name], self.env(name)
        if not name.endswith(")"):
            raise BadRequest(404, f"there is no game {name!r}; there are {', '.join(self.variants)}")
        if name not in self.custom:
            env = or_bad_request(env_of, name, self.bases)
            base = self.bases[form_id(env)]
            self.custom[name] = Variant(name, env.id, secret=base.secret, custom=base.custom), env
        self.custom.move_to_end(name)
        while len(self.custom) > MAX_CUSTOM:
            self.custom.popitem(last=False)
        return self.custom[name]

    def form(self, name: str) -> dict[str, Any]:
        """Return the id and the rule fields of a game, for its form."""
        env = self.game(name)[1]
        return {"id": form_id(env), "fields": fields_of(env.rules)}

    def named(self, id: str, texts: dict[str, str]) -> dict[str, Any]:
        """Return the game of a form's values, see `entry`."""
        return self.entry(or_bad_request(name_of, id, texts, self.bases))

    def entry(self, name: str) -> dict[str, Any]:
        """Return a game's entry in the catalogue."""
        game_variant, env = self.game(name)
        address = quote(name, safe=":")
        return catalogue_entry(name, game_variant, env, f"rules/{address}", kinds(env), f"pictures/{address}")

    # *** tables ***

    def create(self, game: str, seats: Sequence[str], seed: int | None, actions: Sequence[int] = ()) -> dict[str, Any]:
        """Open a table. Without a seed a random one is drawn, and shown at the end of the game."""
        game_variant, env = self.game(game)
        # every seat has a player that the game offers
        allowed = kinds(env)
        if len(seats) != env.num_players or not set(seats) <= set(allowed):
            raise BadRequest(400, f"seats must be {env.num_players} of {', '.join(allowed)}, got {', '.join(seats)}")
        seed = secrets.randbelow(MAX_SEED + 1) if seed is None else seed
        shared = self.positions, self.exploration, self.searchers.of(game)
        table = Table(game, env, seats, seed, self.solver, game_variant, actions, *shared)
        # the kernels of its search are compiled while a person thinks
        if not table.over and not LEVELS.keys().isdisjoint(seats):
            table.searcher.prepare(table.state, self.exploration)
        # older tables are closed for it, and their keys are forgotten
        name = secrets.token_urlsafe(9)
        self.open[name] = table
        while len(self.open) > MAX_TABLES:
            closed, _ = self.open.popitem(last=False)
            self.seats = {key: seat for key, seat in self.seats.items() if seat[0] != closed}
        persons = [seat for seat, kind in enumerate(seats) if kind == PERSON]
        if self.invites is None or len(persons) < 2:
            return self.view(name)
        # a key is the only way to a seat, and nobody is told the table's own name
        keys = {seat: secrets.token_urlsafe(18) for seat in persons}
        self.seats |= {key: (name, seat) for seat, key in keys.items()}
        own, *others = persons
        links = [{"player": seat, "link": f"{self.invites}#table={keys[seat]}"} for seat in others]
        return {**self.view(keys[own]), "invites": links}

    def read(self, game: str, ending: str, text: str) -> dict[str, Any]:
        """Return the position of a file of a game, as `create` takes it, with the same person in every seat."""
        env = self.game(game)[1]
        with TemporaryDirectory(prefix="tensor_envs-") as folder:
            path = Path(folder) / f"game{ending}"
            path.write_text(text)
            found = or_bad_request(load_game, path, None if ending == JSON_LINES else env)
        own, other = (json.dumps(of | {"illegal": None}, sort_keys=True) for of in (env_metadata(env), found.game))
        if own != other or found.start is not None or NO_ACTION in found.actions:
            raise BadRequest(400, f"the file must have a game of {env!r} from its start, got one of {found.game['id']}")
        return {"game": game, "seats": [PERSON] * env.num_players, "seed": found.seed, "actions": list(found.actions)}

    def picture(self, game: str) -> str:
        """Return the picture of a position."""
        if game not in self.pictures:
            self.pictures[game] = example(self.game(game)[1])
        return self.pictures[game]

    def rules(self, game: str) -> str:
        env = self.game(game)[1]
        return describe(env) + about(env)

    def view(self, name: str) -> dict[str, Any]:
        return {"table": name, **self.find(name).view()}

    def change(self, name: str, method: str, *arguments: int) -> dict[str, Any]:
        """Call `act`, `advance` or `undo` of a table and return its view."""
        getattr(self.find(name), method)(*arguments)
        return self.view(name)

    def find(self, name: str) -> Table:
        """Return a table by its name, or by the key of a seat, which then is the seat that asks."""
        name, seat = self.seats.get(name, (name, None))
        if name not in self.open:
            raise BadRequest(410, f"there is no table {name!r}; it may have been closed for newer ones")
        self.open.move_to_end(name)
        self.open[name].asking = seat
        return self.open[name]


def or_bad_request(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function and raise the rules' errors as BadRequest."""
    try:
        return function(*arguments)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise BadRequest(400, str(error)) from None

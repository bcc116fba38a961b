"""The tables of a page to play at: which games there are, who sits where, whose turn it is, and what may be shown."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import numpy as np

from tensor_envs.env import Env
from tensor_envs.play import opponents
from tensor_envs.render.moves import told
from tensor_envs.text import describe
from tensor_envs.web.form import env_of, fields_of, form_id, name_of
from tensor_envs.web.variants import (
    PERFECT,
    PERSON,
    SEARCH,
    TRAINED,
    UNIFORM,
    VARIANTS,
    Variant,
    about,
    kinds,
    variant,
)

MOST_TABLES = 64  # the one that has waited longest goes when another is opened
MOST_MADE = 16  # games of the form, likewise; one that is gone is made again by its name
SHOWN_MOVES = 60
MOST_SEED = 2**53 - 1  # which JavaScript counts exactly
NOT_SHOWN = "a move, not shown"
T = TypeVar("T")


class Refusal(Exception):
    """A request that changes nothing: an HTTP status and what is wrong, in a sentence."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class Move(NamedTuple):
    ply: int
    player: int
    action: int
    name: str


class Table:
    """One game: a batch of one."""

    def __init__(
        self,
        key: str,
        env: Env,
        seats: Sequence[str],
        seed: int,
        solver: opponents.Solver | None = None,
        variant: Variant | None = None,
        actions: Sequence[int] = (),
    ):
        """actions: those that have been played already. Refusal if they are illegal."""
        self.key, self.env, self.seats, self.seed = key, env, seats, seed
        self.variant = variant or VARIANTS[key]
        self.choose: dict[str, opponents.Choose] = {UNIFORM: opponents.at_random, SEARCH: opponents.search}
        if TRAINED in seats:
            self.choose[TRAINED] = opponents.trained(env.id)
        if PERFECT in seats:
            solver = solver or opponents.Solver()
            self.choose[PERFECT] = opponents.perfect(seed, solver)
            if hasattr(env.rules, "cards"):
                solver.begin(env.rules.cards)
        self.waiting = False
        self._begin(actions)

    def _begin(self, actions: Sequence[int]) -> None:
        self.state = self.env.init(1, self.seed)
        self.returns = np.zeros(self.env.num_players)
        self.moves: list[Move] = []
        self._read()
        for action in actions:
            self._check_legal(action)
            self._play(action)

    def _read(self) -> None:
        now = self.state.numpy()
        self.over = bool(now["terminated"][0] or now["truncated"][0])
        self.truncated = bool(now["truncated"][0])
        self.player = None if self.over else int(now["current_player"][0])
        self.legal = np.flatnonzero(now["legal_action_mask"][0]).tolist()
        self.returns = self.returns + now["rewards"][0]

    @property
    def is_persons_turn(self) -> bool:
        return self.player is not None and self.seats[self.player] == PERSON

    def act(self, ply: int, action: int) -> None:
        """A person's action."""
        self._check_turn(ply)
        if not self.is_persons_turn:
            raise Refusal(409, f"it is the turn of player {self.player}, whom the computer plays")
        self._check_legal(action)
        self._play(action)

    def advance(self, ply: int) -> None:
        """The computer's next action, if it knows one yet."""
        self._check_turn(ply)
        if self.player is None or self.is_persons_turn:
            raise Refusal(409, f"it is the turn of player {self.player}, a person")
        action = self.choose[self.seats[self.player]](self.state)
        self.waiting = action is None
        if action is not None:
            self._play(action)

    def undo(self, ply: int) -> None:
        """Back to where a person was last to move: what has been played since is forgotten."""
        self._check_ply(ply)
        persons = [move.ply for move in self.moves if self.seats[move.player] == PERSON]
        if not persons:
            raise Refusal(409, "no person has moved yet")
        self._begin([move.action for move in self.moves[: persons[-1]]])

    def _check_legal(self, action: int) -> None:
        if action not in self.legal:
            known = f"legal are {', '.join(map(str, self.legal))}" if self.legal else "the game is over"
            raise Refusal(400, f"action {action} is illegal here; {known}")

    def _check_turn(self, ply: int) -> None:
        if self.over:
            raise Refusal(409, "the game is over")
        self._check_ply(ply)

    def _check_ply(self, ply: int) -> None:
        if ply != len(self.moves):
            raise Refusal(409, f"the game is at ply {len(self.moves)}, not at {ply}")

    def _play(self, action: int) -> None:
        assert self.player is not None and action in self.legal
        self.moves.append(Move(len(self.moves), self.player, action, self.env.action_to_string(action)))
        self.state = self.env.step(self.state, [action])
        self._read()

    # *** what is shown ***

    @property
    def viewer(self) -> int | None:
        """The seat whose view the page shows; None: all of it, if no person plays or no secret is left.

        Of several persons the one to move where hands are secret, else always the first: the board stays as it lies.
        """
        persons = [seat for seat, kind in enumerate(self.seats) if kind == PERSON]
        if not persons or (self.variant.secret and self.over):
            return None
        return self.player if self.variant.secret and self.is_persons_turn else persons[0]

    def view(self) -> dict[str, Any]:
        """All that the page may know."""
        viewer, names = self.viewer, self._told()[-SHOWN_MOVES:]
        legal = self.legal if self.is_persons_turn else []
        return {
            "game": self.key,
            "secret": self.variant.secret and self.seats.count(PERSON) > 1,
            "seed": self.seed if self.over else None,  # hidden cards follow from it
            "waiting": self.waiting,
            "seats": list(self.seats),
            "ply": len(self.moves),
            "player": self.player,
            "computer": not (self.over or self.is_persons_turn),
            "viewer": viewer,
            "svg": self.env.render(self.state, 0, viewer),
            "text": self.env.to_string(self.state, 0, viewer),
            "actions": [{"action": a, "name": self.env.action_to_string(a)} for a in legal],
            "moves": [
                {"ply": move.ply, "player": move.player, "name": name}
                for move, name in zip(self.moves[-SHOWN_MOVES:], names, strict=True)
            ],
            "over": self.over,
            "truncated": self.truncated,
            "returns": self.returns.tolist(),
        }

    def _told(self) -> list[str]:
        """The names of the moves, as far as the viewer may know them.

        Nobody knows what the moves of a user's game tell: there it is all that others have played.
        """
        viewer, names = self.viewer, [move.name for move in self.moves]
        if not self.variant.secret or viewer is None:
            return names
        if self.variant.own:
            return [move.name if move.player == viewer else NOT_SHOWN for move in self.moves]
        return told(
            names, self.env.state_to_dict(self.state, 0), self.env.state_to_dict(self.state, 0, viewer)
        )


class Tables:
    """All tables of a server. Everything here runs on one thread, the only one that tinygrad may be used from."""

    def __init__(self) -> None:
        self.variants = dict(VARIANTS)
        self.open: OrderedDict[str, Table] = OrderedDict()
        self.envs: dict[str, Env] = {}  # an environment compiles its kernels once
        self.made: OrderedDict[str, tuple[Variant, Env]] = OrderedDict()
        self.solver = opponents.Solver()

    def env(self, key: str) -> Env:
        if key not in self.envs:
            self.envs[key] = variant(key)[1]
        return self.envs[key]

    def add(self, name: str) -> None:
        """Offer a user's game. ValueError if there is no picture of it."""
        found, env = variant(name)
        try:
            env.render(env.init(1))
            env.action_to_string(0)
        except NotImplementedError as error:
            raise ValueError(f"--env {name} cannot be shown: {error}") from None
        self.variants[name], self.envs[name] = found, env

    def catalogue(self) -> dict[str, Any]:
        """What can be played, and by whom."""
        return {"games": [self.about(name) for name in self.variants], "server": True, "python": True}

    # *** the form, as `web/python/playground.py` has it for a static page ***

    @property
    def known(self) -> dict[str, Variant]:
        """The ids that names of the form's games begin with, and a game that is offered under each."""
        return {form_id(self.env(name)): self.variants[name] for name in reversed(self.variants)}

    def game(self, name: str) -> tuple[Variant, Env]:
        """A game that is offered, or one of the form by its name. Refusal if there is none."""
        if name in self.variants:
            return self.variants[name], self.env(name)
        if not name.endswith(")"):
            raise Refusal(404, f"there is no game {name!r}; there are {', '.join(self.variants)}")
        if name not in self.made:
            env = or_refusal(env_of, name, self.known)
            base = self.known[form_id(env)]
            self.made[name] = Variant(name, env.id, secret=base.secret, own=base.own), env
        self.made.move_to_end(name)
        while len(self.made) > MOST_MADE:
            self.made.popitem(last=False)
        return self.made[name]

    def form(self, name: str) -> dict[str, Any]:
        """The id that a game's rules have, and their fields with their present values."""
        env = self.game(name)[1]
        return {"id": form_id(env), "fields": fields_of(env.rules)}

    def named(self, id: str, texts: dict[str, str]) -> dict[str, Any]:
        """The game that a form says, see `about`."""
        return self.about(or_refusal(name_of, id, texts, self.known))

    def about(self, name: str) -> dict[str, Any]:
        """What the page is told of a game."""
        found, env = self.game(name)
        return about(name, found, env, f"rules/{quote(name, safe=':')}", kinds(env))

    # *** tables ***

    def create(
        self, game: str, seats: Sequence[str], seed: int | None, actions: Sequence[int] = ()
    ) -> dict[str, Any]:
        """A new table; without a seed one is drawn, which nobody knows before the end."""
        found, env = self.game(game)
        known = kinds(env)
        if len(seats) != env.num_players or not set(seats) <= set(known):
            raise Refusal(
                400, f"seats must be {env.num_players} of {', '.join(known)}, got {', '.join(seats)}"
            )
        seed = secrets.randbelow(MOST_SEED + 1) if seed is None else seed
        table = Table(game, env, seats, seed, self.solver, found, actions)
        name = secrets.token_urlsafe(9)
        self.open[name] = table
        while len(self.open) > MOST_TABLES:
            self.open.popitem(last=False)
        return {"table": name, **table.view()}

    def rules(self, game: str) -> str:
        return describe(self.game(game)[1])

    def view(self, name: str) -> dict[str, Any]:
        return {"table": name, **self.find(name).view()}

    def position(self, name: str) -> dict[str, Any]:
        """Return what makes the same position again. Refusal while the seed would give away cards or chance."""
        table = self.find(name)
        spec = table.env.spec
        if not table.over and (spec.chance or not spec.perfect_information):
            raise Refusal(
                409, "the seed would give away hidden cards or chance: there is a link when the game is over"
            )
        actions = [move.action for move in table.moves]
        return {"game": table.key, "seats": list(table.seats), "seed": table.seed, "actions": actions}

    def change(self, name: str, what: str, *given: int) -> dict[str, Any]:
        """A table after one of its methods `act`, `advance` and `undo`."""
        getattr(self.find(name), what)(*given)
        return self.view(name)

    def find(self, name: str) -> Table:
        if name not in self.open:
            raise Refusal(404, f"there is no table {name!r}; it may have been closed for newer ones")
        self.open.move_to_end(name)
        return self.open[name]


def or_refusal(find: Callable[..., T], *given: Any) -> T:
    """What is found of a form's values. Refusal if they are wrong, in the words of the rules."""
    try:
        return find(*given)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise Refusal(400, str(error)) from None

"""The tables of a page to play at: which games there are, who sits where, whose turn it is, and what may be shown."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import tensor_envs as te
from play import opponents

PERSON, UNIFORM, PERFECT = "person", "uniform", "perfect"
MOST_TABLES = 64  # the one that has waited longest goes when another is opened
SHOWN_MOVES = 60
MOST_SEED = 2**53 - 1  # which JavaScript counts exactly


class Refusal(Exception):
    """A request that changes nothing: an HTTP status and what is wrong, in a sentence."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Variant:
    """A game that can be chosen. secret: a player has cards that the other must not see; own: a user's game."""

    title: str
    id: str
    fields: dict[str, Any] = field(default_factory=dict)
    secret: bool = False
    own: bool = False


VARIANTS = {
    "tic_tac_toe": Variant("Tic-tac-toe, 3x3", "tic_tac_toe"),
    "cube": Variant("Tic-tac-toe, 3x3x3", "hyper_tic_tac_toe"),
    "hypercube": Variant("Tic-tac-toe, 3x3x3x3", "hyper_tic_tac_toe", {"shape": (3, 3, 3, 3), "k": 3}),
    "qubic": Variant("Qubic: 4x4x4, four in a row", "qubic"),
    "gomoku": Variant("Gomoku: 15x15, five in a row", "gomoku"),
    "connect_four": Variant("Connect four", "connect_four"),
    "othello": Variant("Othello", "othello"),
    "kuhn_poker": Variant("Kuhn poker", "kuhn_poker", secret=True),
    "leduc_poker": Variant("Leduc poker", "leduc_poker", secret=True),
    "2048": Variant("2048", "2048"),
    "backgammon": Variant("Backgammon", "backgammon"),
    "hex": Variant("Hex", "hex"),
    "go": Variant("Go, 9x9", "go"),
    "shed_5": Variant("Shed, 5 cards", "shed", {"cards": 5}),
    "shed_7": Variant("Shed, 7 cards", "shed", {"cards": 7}),
    "shed_10": Variant("Shed, 10 cards", "shed", {"cards": 10}),
    "shed_14": Variant("Shed, 14 cards", "shed", {"cards": 14}),
    "tensor_stars": Variant("Tensor (stars)", "tensor_stars", secret=True),
    "tensor_stars_own": Variant(
        "Tensor (stars), to the own star", "tensor_stars", {"star_rule": "own"}, True
    ),
    "tensor_stars_3": Variant("Tensor (stars), to three points", "tensor_stars", {"points_to_win": 3}, True),
    "tensor_equilibrium_2": Variant("Tensor: Equilibrium, 2 players", "tensor_equilibrium"),
    "tensor_equilibrium_3": Variant("Tensor: Equilibrium, 3 players", "tensor_equilibrium", {"players": 3}),
    "tensor_equilibrium_4": Variant("Tensor: Equilibrium, 4 players", "tensor_equilibrium", {"players": 4}),
    "three_will": Variant("Three Will", "three_will"),
    "three_will_open": Variant("Three Will, open numbers", "three_will", {"ids_visible": True}),
}


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
        env: te.Env,
        seats: Sequence[str],
        seed: int,
        solver: opponents.Solver | None = None,
        variant: Variant | None = None,
    ):
        self.key, self.env, self.seats, self.seed = key, env, seats, seed
        self.variant = variant or VARIANTS[key]
        self.state = env.init(1, seed)
        self.returns = np.zeros(env.num_players)
        self.moves: list[Move] = []
        self.choose: dict[str, opponents.Choose] = {UNIFORM: opponents.uniform}
        if PERFECT in seats:
            solver = solver or opponents.Solver()
            self.choose[PERFECT] = opponents.perfect(seed, solver)
            if hasattr(env.rules, "cards"):
                solver.begin(env.rules.cards)
        self.waiting = False
        self._read()

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
        if action not in self.legal:
            raise Refusal(
                400, f"action {action} is illegal here; legal are {', '.join(map(str, self.legal))}"
            )
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

    def _check_turn(self, ply: int) -> None:
        if self.over:
            raise Refusal(409, "the game is over")
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
        viewer, hidden = self.viewer, self._hidden()
        facedown = "a move, not shown" if self.variant.own else "a card, face down"
        told = [
            {"ply": m.ply, "player": m.player, "name": facedown if m.ply in hidden else m.name}
            for m in self.moves[-SHOWN_MOVES:]
        ]
        legal = self.legal if self.is_persons_turn else []
        return {
            "game": self.key,
            "title": self.variant.title,
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
            "moves": told,
            "result": self._result(),
            "returns": self.returns.tolist(),
        }

    def _hidden(self) -> set[int]:
        """The plies of cards that lie face down and are not the viewer's, among those placed in this turn.

        Nobody knows what the moves of a user's game tell: there it is all that others have played.
        """
        if not self.variant.secret or self.viewer is None:
            return set()
        if self.variant.own:
            return {move.ply for move in self.moves if move.player != self.viewer}
        seen = self.env.state_to_dict(self.state, 0, self.viewer)
        whole = self.env.state_to_dict(self.state, 0)
        cards = [  # of a game in which cards are placed at all
            pair
            for both in zip(whole.get("commit", ()), seen.get("commit", ()), strict=True)
            for pair in zip(*both, strict=True)
        ]
        differs = [card != shown for card, shown in cards if card >= 0]  # in the order of placing
        moves = [move.ply for move in self.moves if move.name.startswith("PLACE")]
        return {
            ply for ply, hidden in zip(moves[len(moves) - len(differs) :], differs, strict=True) if hidden
        }

    def _result(self) -> str | None:
        if not self.over:
            return None
        best = self.returns.max()
        winners = [f"player {seat}" for seat, got in enumerate(self.returns) if got == best]
        if len(winners) == len(self.seats):
            return "A draw, by the limit of the game's length." if self.truncated else "A draw."
        names = (
            f"{', '.join(winners[:-1])} and {winners[-1]} share the win"
            if winners[1:]
            else f"{winners[0]} wins"
        )
        return f"{names[0].upper()}{names[1:]}."


def rulebook(env: te.Env) -> str:
    """The folder of its game, in which RULES.md lies: one for all presets."""
    return type(env.rules).__module__.split(".")[-2]


class Tables:
    """All tables of a server. Everything here runs on one thread, the only one that tinygrad may be used from."""

    def __init__(self) -> None:
        self.variants = dict(VARIANTS)
        self.open: OrderedDict[str, Table] = OrderedDict()
        self.envs: dict[str, te.Env] = {}  # an environment compiles its kernels once
        self.solver = opponents.Solver()

    def env(self, key: str) -> te.Env:
        if key not in self.envs:
            self.envs[key] = te.make(self.variants[key].id, **self.variants[key].fields)
        return self.envs[key]

    def add(self, name: str) -> str:
        """Offer a user's game -> its rules. ValueError if there is no picture of it."""
        env = te.make(name)
        try:
            env.render(env.init(1))
            env.action_to_string(0)
        except NotImplementedError as error:
            raise ValueError(f"--env {name} cannot be shown: {error}") from None
        self.variants[name] = Variant(name, name, secret=not env.spec.perfect_information, own=True)
        self.envs[name] = env
        return env.describe()

    def catalogue(self) -> list[dict[str, Any]]:
        """What can be played, and by whom."""
        games = []
        for key, variant in self.variants.items():
            env = self.env(key)
            kinds = [PERSON, UNIFORM, *[PERFECT] * te.search.is_solved(env)]
            about = {"game": key, "title": variant.title, "rules": key if variant.own else rulebook(env)}
            games.append({**about, "players": env.num_players, "kinds": kinds})
        return games

    def create(self, game: str, seats: Sequence[str], seed: int | None) -> dict[str, Any]:
        """A new table; without a seed one is drawn, which nobody knows before the end."""
        if game not in self.variants:
            raise Refusal(404, f"there is no game {game!r}; there are {', '.join(self.variants)}")
        env = self.env(game)
        kinds = (PERSON, UNIFORM, *[PERFECT] * te.search.is_solved(env))
        if len(seats) != env.num_players or not set(seats) <= set(kinds):
            raise Refusal(
                400, f"seats must be {env.num_players} of {', '.join(kinds)}, got {', '.join(seats)}"
            )
        seed = secrets.randbelow(MOST_SEED + 1) if seed is None else seed
        table, name = (
            Table(game, env, seats, seed, self.solver, self.variants[game]),
            secrets.token_urlsafe(9),
        )
        self.open[name] = table
        while len(self.open) > MOST_TABLES:
            self.open.popitem(last=False)
        return {"table": name, **table.view()}

    def view(self, name: str) -> dict[str, Any]:
        return {"table": name, **self.find(name).view()}

    def act(self, name: str, ply: int, action: int) -> dict[str, Any]:
        self.find(name).act(ply, action)
        return self.view(name)

    def advance(self, name: str, ply: int) -> dict[str, Any]:
        self.find(name).advance(ply)
        return self.view(name)

    def find(self, name: str) -> Table:
        if name not in self.open:
            raise Refusal(404, f"there is no table {name!r}; it may have been closed for newer ones")
        self.open.move_to_end(name)
        return self.open[name]

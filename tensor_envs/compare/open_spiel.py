"""OpenSpiel's games for `tensor_envs.compare`."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from tensor_envs._validate import need
from tensor_envs.compare.protocol import Fields, known_name
from tensor_envs.envs.env import Env
from tensor_envs.evaluation.engines.open_spiel import GAMES
from tensor_envs.games.backgammon.rules import BAR, FACES, POINTS, SOURCES

SPIEL_NAMES = {
    **{name: game.name for name, game in GAMES.items() if game.number is int},
    "backgammon": "backgammon(scoring_type=full_scoring)",
    "2048": "2048(max_tile=131072)",
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
}


class OpenSpiel:
    """A game of OpenSpiel, whose actions have the same numbers."""

    def __init__(self, env: Env):
        name = known_name("open_spiel", env, SPIEL_NAMES).format(**asdict(env.rules))
        self.game = need("pyspiel", "--with open_spiel", "peers").load_game(name)
        self.first = 1 if env.id == "chess" else 0  # its White is player 1
        self.num_players = env.num_players
        self.id = env.id

    def begin(self, fields: Fields, seed: int, row: int) -> None:
        self.state = self.game.new_initial_state()
        self._deal(fields)

    def apply(self, action: int, fields: Fields) -> None:
        self.state.apply_action(action)
        self._deal(fields)

    def _deal(self, fields: Fields) -> None:
        """Let chance deal what it has dealt in our game."""
        if self.id == "2048":
            tiles = [2**exponent if exponent else 0 for exponent in np.ravel(fields["board"]).tolist()]
            while self.state.is_chance_node():
                tiles_before = self.state.observation_tensor(0)
                cell = next(k for k, tile in enumerate(tiles) if tile != tiles_before[k])
                self.state.apply_action(2 * cell + int(tiles[cell] == 4))
        while self.state.is_chance_node():
            cards = [*fields["cards"], fields.get("public")]
            dealt = sum(step.player < 0 for step in self.state.full_history())
            self.state.apply_action(cards[dealt])

    @property
    def over(self) -> bool:
        return bool(self.state.is_terminal())

    @property
    def player(self) -> int:
        return int(self.state.current_player()) ^ self.first

    @property
    def returns(self) -> list[float]:
        returns: list[float] = self.state.returns()
        return returns[:: -1 if self.first else 1]

    def legal(self) -> list[int]:
        return list(self.state.legal_actions())

    def __str__(self) -> str:
        return str(self.state)


PASS = -1  # where a move of OpenSpiel starts if it is a pass
SPIEL_BAR = 100  # where it starts if it enters from the bar


class SpielBackgammon(OpenSpiel):
    """OpenSpiel's backgammon, whose actions are two moves at once, and two such actions of a double.

    Attributes:
        plies: our actions so far that are a part of its next action.
    """

    def begin(self, fields: Fields, seed: int, row: int) -> None:
        self.plies: tuple[int, ...] = ()
        super().begin(fields, seed, row)

    def apply(self, action: int, fields: Fields) -> None:
        player = self.state.current_player()
        actions = self.spiel_actions()
        self.plies = (*self.plies, action)
        last = actions.get((*self.plies, 0))  # the first of two moves may end the game
        if self.plies in actions:
            self.state.apply_action(actions[self.plies])
            self.plies = ()
        elif last is not None and self.state.child(last).is_terminal():
            self.state.apply_action(last)
        if action == 0 and self.state.current_player() == player:  # a pass in both halves of a double
            actions = self.spiel_actions()
            if [*actions] == [(0,)]:
                self.state.apply_action(actions[0,])
        self._deal(fields)

    def spiel_actions(self) -> dict[tuple[int, ...], int]:
        """Return OpenSpiel's legal actions by the one or two of our actions with the same effect; the last may pass."""
        actions = dict[tuple[int, ...], int]()
        player = self.state.current_player()
        for action in self.state.legal_actions():
            moves = self.state.spiel_move_to_checker_moves(player, action)
            plies = [0 if move.pos == PASS else our_action(player, move.pos, move.num) for move in moves]
            actions[tuple(plies if plies[0] else plies[:1])] = action
        return actions

    def legal(self) -> list[int]:
        count = len(self.plies)
        return sorted({plies[count] for plies in self.spiel_actions() if plies[:count] == self.plies})

    def _deal(self, fields: Fields) -> None:
        """Throw our dice for our player. Where none of its throws gives both, its chance remains to move."""
        if not self.state.is_chance_node():
            return
        faces = [face for face, left in enumerate(fields["dice"], 1) if left]
        throws = {f"(roll: {low}{high})" for low, high in ((faces[0], faces[-1]), (faces[-1], faces[0]))}
        for outcome in self.state.legal_actions():
            if self.state.action_to_string(outcome)[-len("(roll: 12)") :] in throws:
                child = self.state.child(outcome)
                if child.current_player() == fields["current_player"]:
                    self.state = child
                    return


def our_action(player: int, place: int, face: int) -> int:
    """Return our action for a man's move from one of OpenSpiel's places, which are player 1's pips from 0 on."""
    pip = BAR if place == SPIEL_BAR else POINTS - place if player == 0 else place + 1
    return (SOURCES - pip) * FACES + face - 1


def open_spiel(env: Env) -> OpenSpiel:
    """Return OpenSpiel's engine for a game."""
    return SpielBackgammon(env) if env.id == "backgammon" else OpenSpiel(env)

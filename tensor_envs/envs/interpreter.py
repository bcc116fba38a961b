"""Interpreter of rules in plain Python, one game at a time, for debuggers and to check compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_envs._engine.game import Game, uniform_action
from tensor_envs._engine.layout import MaskWords
from tensor_envs._engine.random import seed_words
from tensor_envs._validate import instance, integer
from tensor_envs.envs.env import SEED_ROWS, Env
from tensor_envs.rules.chance import POLICY_EPISODE, threefry
from tensor_envs.rules.lists import MemoryArray, flat, has_bit, nested, num_words
from tensor_envs.rules.observation import entries
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, scalar, uint32
from tensor_envs.rules.spec import INT_HIGH, INT_LOW, GameState, Rules


class ScalarGame:
    """Game that is played in plain Python by calling the rules, so that `print` and a debugger work inside them.

    It is game `row` of the seed: the same actions lead to exactly the same states as in that row of a batch.

    Attributes:
        state: the fields as plain Scalars.
        rewards: floats [P], the rewards of the last action.
        terminated, truncated: whether the game is over.
        events: ints by name, the events of the last action.

    Examples:
        >>> game = te.debug(te.make("tic_tac_toe"))
        >>> game.step(4)
        >>> game.legal_actions()
        [0, 1, 2, 3, 5, 6, 7, 8]
    """

    def __init__(self, rules: Rules, seed: int = 0, row: int = 0, episode: int = 0):
        self.game = Game(rules)
        low, high = seed_words(seed)
        row = integer("row", row, 0, SEED_ROWS - 1)
        episode = integer("episode", episode, 0, SEED_ROWS - 1)
        policy_key = threefry((low, high), (row, POLICY_EPISODE))
        self.row_keys = [uint32(x) for x in (low, high, row)] + list(policy_key)
        self._start(episode)

    def _start(self, episode: int) -> None:
        """Start an episode."""
        self.state = self._evaluated(self.game.init(self.row_keys, uint32(episode)))
        self._mask_of: GameState | None = None
        self.rewards = [0.0] * self.game.spec.num_players
        self.terminated = self.truncated = False
        self.events = dict.fromkeys(self.game.spec.events, 0)

    def _set_position(self, values: dict[str, Any]) -> None:
        """Set all fields and flags but the random key and the episode."""
        fields = {name: values[name] for name in self.game.fields}
        for name, field in self.game.fields.items():
            if field.memory:
                fields[name] = _memory_array([uint32(x) for x in fields[name]])
            elif name in ("episode", "key"):
                fields[name] = getattr(self.state, name)
        self.state = self.game.typed(fields, "game")
        self.terminated = values["terminated"]
        self.truncated = values["truncated"]

    def _evaluated(self, s: GameState) -> GameState:
        """Return a state with the elements of memory fields evaluated, as a kernel stores them."""
        values: dict[str, Any] = s.asdict()
        for name, field in self.game.fields.items():
            if field.memory:
                values[name] = _memory_array([values[name][i] for i in range(field.size)])
        return GameState(values, self.game.spec.num_players)

    @property
    def over(self) -> bool:
        """Whether the game is terminated or truncated."""
        return self.terminated or self.truncated

    def _mask(self) -> MaskWords:
        """Return the legal action mask, computed once per state."""
        if self._mask_of is not self.state:
            # Rules compute no mask for a finished game, which has no player to move.
            empty = [uint32(0)] * num_words(self.game.spec.num_actions)
            self._mask_of = self.state
            self._words = empty if self.over else self.game.mask(self.state)
        return self._words

    def legal_actions(self) -> list[int]:
        """Return the legal actions; none once the game is over."""
        mask = self._mask()
        words = [int(mask[w].value) for w in range(len(mask))]
        return [a for a in range(self.game.spec.num_actions) if words[a // WORD_BITS] >> a % WORD_BITS & 1]

    def uniform_action(self) -> int:
        """Return the action of the uniform policy; 0 once the game is over."""
        count = self.game.spec.num_actions
        return int(uniform_action(self.state, self._mask(), count, self.row_keys[3:], live=False).value)

    def step(self, action: int) -> None:
        """Play an action. An illegal one ends the game as in a batch; a finished game stays as it is."""
        action = integer("action", action, INT_LOW, INT_HIGH)
        self.rewards = [0.0] * self.game.spec.num_players
        self.events = dict.fromkeys(self.events, 0)
        if self.over:
            return
        count = self.game.spec.num_actions
        clamped = min(max(action, 0), count - 1)
        legal = scalar(clamped == action) & has_bit(self._mask(), clamped)
        s, rewards, terminated, truncated, events = self.game.step_with_events(self.state, int32(clamped), legal)
        self.state = self._evaluated(self.game.where(legal, s, self.state))
        self.events = {name: int(event.value) for name, event in zip(self.events, events, strict=True)}
        self.rewards = [float(r.value) for r in rewards]
        self.terminated = bool(terminated.value)
        self.truncated = bool(truncated.value)

    def reset(self) -> None:
        """Start the row's next episode."""
        self._start(int(self.state.episode.value) + 1)

    def observe(self, player: int | None = None) -> np.ndarray:
        """Return the observation of a player.

        Args:
            player: the player; None is the player to move.

        Returns:
            An array of the Spec's observation shape and dtype.
        """
        if player is not None:
            player = integer("player", player, 0, self.game.spec.num_players - 1)
        viewer = self.state.current_player if player is None else int32(player)
        parts = self.game.observe(self.state, self._mask(), viewer)
        spec = self.game.spec
        try:
            return np.array(entries(parts), np.dtype(spec.observation_dtype)).reshape(spec.observation_shape)
        except OverflowError as error:
            raise ValueError(f"observe must give numbers of dtype {spec.observation_dtype}: {error}") from None

    def fields(self) -> dict[str, Any]:
        """Return all fields as plain numbers and nested lists."""
        values = {}
        for name, field in self.game.fields.items():
            value = getattr(self.state, name)
            numbers = [value[i] for i in range(field.size)] if field.memory else flat(value)
            values[name] = nested([int(x.value) for x in numbers], field.shape)
        return values


def debug(env: Env, seed: int = 0, row: int = 0, episode: int = 0, game: dict[str, Any] | None = None) -> ScalarGame:
    """Start one game in plain Python, so that breakpoints and `print` work inside the rules.

    Args:
        env: the environment.
        seed, row, episode: numbers of the game, which is the same as in that row of a batch.
        game: a position to start from, a dictionary as `state_to_dict` returns it; None for the initial position.

    Returns:
        The game.

    Raises:
        ValueError, TypeError: an argument of another type or out of range; an invalid position.

    Examples:
        >>> game = te.debug(te.make("tic_tac_toe"), seed=1)
        >>> while not game.over:
        ...     game.step(game.uniform_action())
    """
    instance("env", env, Env)
    result = ScalarGame(env.rules, seed, row, episode)
    if game is not None:
        result._set_position(env.engine.layout.game(env.pack([game])[0]))
    return result


def _memory_array(values: list[Scalar]) -> MemoryArray:
    """Return a memory field with these elements."""
    return MemoryArray(lambda i: values[int(i.value)], len(values))

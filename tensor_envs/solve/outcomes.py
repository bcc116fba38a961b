"""Explicit chance: each outcome of a step's draws becomes an action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import INT32, UINT32, Tape, record
from tensor_envs._engine.game import Game
from tensor_envs._engine.layout import Layout
from tensor_envs.rules import Actions, Scalar, Value, has_bit, int32, scalar, uint32
from tensor_envs.rules.kernel import depends_on, registers
from tensor_envs.rules.lists import flat, nested, pack_flags
from tensor_envs.rules.observation import Observation
from tensor_envs.rules.spec import GameState, Mask, Outcome, Rules, Spec

MAX_OUTCOMES = 65536  # upper bound for the outcomes of a step, or of a first state


class Digits:
    """Chance whose draws are the digits of a number in mixed radix, the first draw being the lowest digit.

    Attributes:
        sizes: number of values of each draw so far, by its counter.
    """

    def __init__(self, number: Value, every_ply: bool):
        """Store the number.

        Args:
            number: number of the outcome.
            every_ply: whether the rules are traced for every ply at once. No draw may have a constant counter then: its
                value would be fixed from the first ply on, as information that is hidden until it is used.
        """
        self.number = scalar(number)
        self.every_ply = every_ply
        self.sizes: dict[Any, int] = {}
        self._drawn: dict[Any, Scalar] = {}

    @property
    def outcomes(self) -> int:
        """Number of outcomes of all draws so far."""
        return prod(self.sizes.values())

    def bits(self, counter: Value) -> Scalar:
        raise ValueError("the game draws whole words of chance, whose values are too many to count")

    def draw(self, counter: Value, n: Value) -> Scalar:
        event_number = uint32(counter)
        size = scalar(n)
        if not size.is_plain:
            raise ValueError(
                "the game draws among a number of values that differs from state to state, so they cannot be counted: "
                "write chance.draw(event, n) with an int n, such as the size of the whole deck, or draw all in init"
            )
        if event_number.is_plain and self.every_ply:
            raise ValueError(f"the game draws event {event_number.value} at every ply: it is hidden until it has come")
        event = event_number.node
        if event not in self.sizes:
            # Stop before the draws have more outcomes than fit into the number.
            _check_outcomes("a step or a first state", self.outcomes)
            # Each draw takes the next digit of the number.
            self._drawn[event] = self.number // self.outcomes % int(size.value)
            self.sizes[event] = int(size.value)
        if self.sizes[event] != int(size.value):
            raise ValueError("the game draws one event among different numbers of values")
        return self._drawn[event]


class Facts(NamedTuple):
    """Properties of traced rules."""

    outcomes: int  # number of outcomes of a step's draws, 1 without chance
    by_ply: bool  # whether a result depends on the ply


def facts(rules: Rules) -> Facts:
    """Trace a step and return properties of the rules, which may not have memory fields.

    ValueError for chance whose outcomes cannot be counted.
    """
    game = Game(rules)
    layout = Layout(game.spec)
    with record(Tape()):
        words = registers(layout.words, UINT32)
        arguments = registers(3, INT32)
        # The tape cannot fold values of registers to constants.
        loaded = [words[w] for w in range(layout.words)]
        ply, action, number = (arguments[k] for k in range(3))
        s = layout.get_state(loaded.__getitem__).replace(ply=ply)
        digits = Digits(number, every_ply=True)
        outcome = game.rules.step(s, action, digits)
        after = game.typed(outcome.state.replace(ply=0).asdict(), "step").asdict().values()
        # The rules depend on the ply if any result does: the next fields, rewards, flags or the mask.
        results = [*(x for value in after for x in flat(value)), *map(scalar, outcome.rewards)]
        mask = game.mask(s)
        results += [scalar(outcome.terminated), scalar(outcome.truncated), *(mask[w] for w in range(len(mask)))]
        by_ply = depends_on(results, ply)
    _check_outcomes("a step", digits.outcomes)
    return Facts(digits.outcomes, by_ply)


def _check_outcomes(drawn: str, outcomes: int) -> None:
    """Raise ValueError if the draws of a step or first state have too many outcomes."""
    if outcomes > MAX_OUTCOMES:
        raise ValueError(f"the draws of {drawn} must have at most {MAX_OUTCOMES} outcomes, got at least {outcomes}")


def first_states(rules: Rules) -> Iterator[dict[str, Any]]:
    """Yield the fields of every first state as plain numbers and nested lists. The first states are equally likely."""
    game = Game(rules)
    number = 0
    outcomes = 1
    while number < outcomes:
        chance = Digits(number, every_ply=False)
        s = game.first_state(chance)
        # The number of outcomes is known once the first state has drawn all its events.
        outcomes = chance.outcomes
        _check_outcomes("a first state", outcomes)
        yield {
            name: nested([int(x.value) for x in flat(value)], game.fields[name].shape)
            for name, value in s.asdict().items()
        }
        number += 1


@dataclass(frozen=True)
class Explicit:
    """Game without chance for a game with it: action a * outcomes + d is action a with outcome d of its draws."""

    rules: Rules
    outcomes: int

    @property
    def spec(self) -> Spec:
        spec = self.rules.spec
        return replace(spec, num_actions=spec.num_actions * self.outcomes, chance=False)

    def init(self, chance: Any) -> dict[str, Any]:
        return {}  # see `first_states`

    def legal_action_mask(self, s: GameState) -> Mask:
        mask = Game(self.rules).mask(s)
        names = [f"action{a}" for a in range(self.rules.spec.num_actions)]
        legal = {name: has_bit(mask, int32(a)) for a, name in enumerate(names)}
        return Actions(**dict.fromkeys(names, self.outcomes)).mask(**legal)

    def step(self, s: GameState, action: Scalar, chance: Any) -> Outcome:
        return self.rules.step(s, action // self.outcomes, Digits(action % self.outcomes, every_ply=True))

    def observe(self, s: GameState, player: Scalar) -> Observation:
        outcomes = self.outcomes
        actions = self.rules.spec.num_actions
        mask = pack_flags([has_bit(s.legal_action_mask, int32(a * outcomes)) for a in range(actions)])
        return self.rules.observe(GameState(s.asdict() | {"legal_action_mask": mask}, self.spec.num_players), player)

"""Hanabi: a conformance check that compares what players see of a game and of resampled copies."""

from dataclasses import dataclass, replace

import pytest

import tensor_envs as te
from tensor_envs.games.hanabi.rules import Hanabi
from tensor_envs.rules import Observation, Scalar, one_hot
from tensor_envs.testing import ConformanceError
from tensor_envs.testing.information import compare_resampled


@dataclass(frozen=True)
class Leaky(Hanabi):
    """Hanabi in which a player sees the newest card in the own hand."""

    @property
    def spec(self) -> te.Spec:
        spec = super().spec
        return replace(spec, observation_shape=(spec.observation_shape[0] + self.cards,))

    def observe(self, s: te.GameState, player: Scalar) -> Observation:
        parts = super().observe(s, player)
        assert isinstance(parts, dict)
        return parts | {"own card": one_hot(s.hands[player][-1], self.cards)}


def test_what_is_hidden_is_compared_in_resampled_games() -> None:
    """Players who see all hands but one hardly ever see two games alike, so copies are compared."""
    small = Leaky(players=3, colors=2, ranks=3, hand_size=2, information_tokens=2)
    entry = te.GameEntry("leaky", Leaky, "tensor_envs.games.hanabi.notation", "tensor_envs.games.hanabi.render")
    env = te.Env(entry, small, "leaky")
    with pytest.raises(ConformanceError, match="observe shows what seen_by hides from player 0 of row 0"):
        compare_resampled(env, None)

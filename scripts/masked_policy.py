"""A small policy network with a masked head, jitted together with the step, that plays and learns for a few updates.

    python scripts/masked_policy.py --env tensor_stars
    python scripts/masked_policy.py --env tensor_equilibrium --updates 60

What research code does with the masks: `te.masked_logits` floors what is illegal, `te.sample_action` draws from the
rest, and network, draw and `env.step` are one captured graph. An action is judged by what became of the game when all
went on at random (one rollout kernel); the gradient of its log-probability, times that, is the update (REINFORCE: R. J.
Williams, Machine Learning 8, 1992). Prints the win rate of seat 0 against uniformly random players before and after.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import Context, trange

import tensor_envs as te

HORIZON = {
    "tensor_stars": 120,
    "tensor_equilibrium": 400,
}  # decisions after which nearly every random game is over


class Network:
    """One hidden layer from the flat observation to a logit an action."""

    def __init__(self, inputs: int, actions: int, hidden: int = 128):
        self.first, self.last = nn.Linear(inputs, hidden), nn.Linear(hidden, actions)

    def __call__(self, env: te.Env, state: te.State) -> Tensor:
        seen = env.observe(state).flatten(1).float()
        return te.masked_logits(self.last(self.first(seen).relu()), state.legal_action_mask)


class Learner:
    """The network and what is captured around it."""

    def __init__(self, env: te.Env, rate: float):
        self.env, inputs = env, 1
        for side in env.observation_shape:
            inputs *= side
        self.network = Network(inputs, env.num_actions)
        Tensor.realize(
            *nn.state.get_parameters(self.network)
        )  # else every capture would draw weights of its own
        self.optimiser = nn.optim.Adam(nn.state.get_parameters(self.network), lr=rate)
        self.decide, self.learn, self.duel = te.jit(self._decide), te.jit(self._learn), te.jit(self._duel)

    def _choose(self, state: te.State) -> Tensor:
        mask = state.legal_action_mask
        return te.sample_action(self.network(self.env, state), mask, state.action_key, state.ply)

    def _decide(self, state: te.State) -> tuple[te.State, Tensor]:
        """Network, draw and step in one capture."""
        action = self._choose(state)
        return self.env.step(state, action), action

    def _duel(self, state: te.State) -> te.State:
        """Seat 0 plays by the network, the others at random."""
        mine = state.current_player == 0
        return self.env.step(state, mine.where(self._choose(state), te.random_policy(state)))

    def _learn(self, state: te.State, action: Tensor, outcome: Tensor) -> Tensor:
        """One update from what the chosen actions led to for those who chose them [B]."""
        chosen = (Tensor.arange(self.env.num_actions) == action.unsqueeze(1)).float()
        likelihood = (self.network(self.env, state).log_softmax() * chosen).sum(1)
        loss = -(likelihood * (outcome - outcome.mean())).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss

    def train(self, batch: int, updates: int, seed: int, device: str | None) -> None:
        state = self.env.init(batch, seed, device)
        seats = Tensor.arange(self.env.num_players)
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            for _ in trange(updates, desc="updates", disable=not sys.stderr.isatty()):
                after, action = self.decide(state)
                rest = te.rollout_from(after, "uniform", HORIZON[self.env.id], autoreset=False)
                mover = (state.current_player.unsqueeze(1) == seats).float()
                outcome = ((after.rewards + rest.returns) * mover).sum(1).realize()
                self.learn(state, action, outcome)
                state = self.env.reset(after)

    def win_rate(self, batch: int, seed: int, device: str | None) -> float:
        """Share of games that seat 0 wins, of those that are over."""
        state = self.env.init(batch, seed, device)
        wins, running = 0, np.ones(batch, bool)
        for _ in range(HORIZON[self.env.id]):
            state = self.duel(state)
            now = state.numpy()
            ended = running & (now["terminated"] | now["truncated"])
            wins += int((ended & (now["rewards"][:, 0] > 0)).sum())
            running &= ~ended
            if not running.any():
                break
        return wins / max(1, int((~running).sum()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", choices=sorted(HORIZON), default="tensor_stars")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default=None)
    options = parser.parse_args(arguments)
    try:
        Tensor.manual_seed(options.seed)
        learner = Learner(te.make(options.env), options.rate)
        before = learner.win_rate(options.batch, options.seed + 1, options.device)
        begin = time.perf_counter()
        learner.train(options.batch, options.updates, options.seed, options.device)
        seconds = time.perf_counter() - begin
        after = learner.win_rate(options.batch, options.seed + 1, options.device)
    except (ValueError, TypeError, RuntimeError) as error:
        print(f"masked_policy.py: {error}", file=sys.stderr)
        return 2
    print(f"{options.env}: seat 0 wins {before:.3f} of its games against random players before learning")
    print(f"  after {options.updates} updates of {options.batch} decisions in {seconds:.1f} s: {after:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

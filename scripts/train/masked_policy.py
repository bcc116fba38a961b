"""A small policy network with a masked head, jitted together with the step, that plays and learns for a few updates.

    python scripts/train/masked_policy.py --env tensor_stars
    python scripts/train/masked_policy.py --env tensor_equilibrium --updates 60

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
from pathlib import Path

from tensor_envs._command import (
    MAX_COUNT,
    add_game,
    busy,
    command_parser,
    device_of,
    game_of,
    real,
    run,
    whole,
)

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from tinygrad import Tensor, nn
from tinygrad.helpers import Context, trange

import tensor_envs as te
from tensor_envs.train.network import Network, look
from train.training import one_hot

HIDDEN = 128
# decisions after which nearly every random game is over
HORIZON = {"tensor_stars": 120, "tensor_equilibrium": 400}
LONGEST = 1000  # of other games


class Learner:
    """The network and what is captured around it."""

    def __init__(self, env: te.Env, rate: float):
        self.env, self.network = env, Network(env, HIDDEN)
        parts = (self.network.first, self.network.second, self.network.policy)
        parameters = [p for part in parts for p in nn.state.get_parameters(part)]
        self.optimiser = nn.optim.Adam(parameters, lr=rate)
        self.decide, self.learn, self.act = te.jit(self._decide), te.jit(self._learn), te.jit(self._act)

    def _act(self, state: te.State) -> Tensor:
        logs, _ = self.network(*look(self.env, state))
        return te.sample_action(logs, state.legal_action_mask, state.action_key, state.ply)

    def _decide(self, state: te.State) -> tuple[te.State, Tensor]:
        """Network, draw and step in one capture."""
        action = self._act(state)
        return self.env.step(state, action), action

    def _learn(self, state: te.State, action: Tensor, outcome: Tensor) -> Tensor:
        """One update from what the chosen actions led to for those who chose them [B]."""
        logs, _ = self.network(*look(self.env, state))
        likelihood = (logs * one_hot(action, self.env.num_actions)).sum(1)
        loss = -(likelihood * (outcome - outcome.mean())).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss

    def train(self, batch: int, updates: int, seed: int, device: str | None) -> None:
        state = self.env.init(batch, seed, device)
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            for _ in trange(updates, desc="updates", disable=not sys.stderr.isatty()):
                after, action = self.decide(state)
                rest = te.rollout_from(after, "uniform", HORIZON.get(self.env.id, LONGEST), autoreset=False)
                mover = one_hot(state.current_player, self.env.num_players)
                outcome = ((after.rewards + rest.returns) * mover).sum(1).realize()
                self.learn(state, action, outcome)
                state = self.env.reset(after)

    def win_rate(self, batch: int, seed: int, device: str | None) -> float:
        """Share of games that seat 0 wins, of those that are over."""
        cap = HORIZON.get(self.env.id, LONGEST)
        others = [te.agents.uniform] * (self.env.num_players - 1)
        found = te.evaluate(
            self.env, [self.act, *others], batch, "fixed", seed=seed, limit=cap, device=device
        )
        over = found.plies < cap
        return float((over & (found.returns[:, 0] > 0)).sum() / max(1, over.sum()))


def work(options: argparse.Namespace) -> None:
    Tensor.manual_seed(options.seed)
    env, batch, seed, device = game_of(options), options.batch, options.seed, options.device
    learner = Learner(env, options.rate)
    where = device_of(device)
    with busy(f"compiling for {where}, playing {batch:,} games"):
        before = learner.win_rate(batch, seed + 1, device)
    print(
        f"{env.id}: seat 0 wins {before:.3f} of its games against random players before learning", flush=True
    )
    begin = time.perf_counter()
    with busy(f"{options.updates} updates"):
        learner.train(batch, options.updates, seed, device)
    seconds = time.perf_counter() - begin
    with busy(f"playing {batch:,} games"):
        after = learner.win_rate(batch, seed + 1, device)
    print(
        f"  after {options.updates} updates of {batch} decisions in {seconds:.1f} s: {after:.3f} (on {where})"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("masked_policy.py", __doc__)
    add_game(parser, "tensor_stars")
    parser.add_argument("--batch", type=whole(1, MAX_COUNT), default=1024, help="games; default: %(default)s")
    parser.add_argument("--updates", type=whole(1, MAX_COUNT), default=200, help="default: %(default)s")
    parser.add_argument(
        "--rate", type=real(0, 1, False), default=3e-3, help="of learning; default: %(default)s"
    )
    parser.add_argument("--seed", type=whole(0, 2**32 - 2), default=0)
    parser.add_argument("--device", help="any tinygrad device; default: tinygrad's own choice")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()

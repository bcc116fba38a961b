"""PPO in one file, in the manner of CleanRL: PyTorch on Gymnasium's vector environment, with masks.

    python scripts/train/ppo_gymnasium.py
    python scripts/train/ppo_gymnasium.py --env connect_four --player 1 --updates 100

One player learns, the others play uniformly at random. J. Schulman et al., "Proximal Policy Optimization Algorithms",
arXiv:1707.06347, section 5; of the 37 details of the CleanRL authors' list those that boards need. Needs PyTorch and
Gymnasium (extras `torch` and `gymnasium`). `ppo_torch.py` learns all seats at once.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensor_envs._command import (
    MAX_COUNT,
    add_game,
    busy,
    command_parser,
    device_of,
    game_of,
    need,
    real,
    run,
    whole,
)

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

import tensor_envs as te


def layer(torch: Any, inputs: int, outputs: int, gain: float) -> Any:
    made = torch.nn.Linear(inputs, outputs)
    torch.nn.init.orthogonal_(made.weight, gain)
    torch.nn.init.zeros_(made.bias)
    return made


def train(env: te.Env, options: argparse.Namespace) -> float:
    """Learn, and say how -> the mean return of the last update's games."""
    torch: Any = importlib.import_module("torch")
    from tensor_envs.adapters.gymnasium import SingleAgentVectorEnv

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the batches are too small for more
    envs = SingleAgentVectorEnv(env, options.num_envs, player=options.player, autoreset_mode="SameStep")
    size, hidden, tanh = math.prod(env.observation_shape), options.hidden, torch.nn.Tanh()
    body = torch.nn.Sequential(
        layer(torch, size, hidden, 2**0.5), tanh, layer(torch, hidden, hidden, 2**0.5), tanh
    )
    heads = torch.nn.ModuleList((layer(torch, hidden, env.num_actions, 0.01), layer(torch, hidden, 1, 1.0)))
    parameters = [*body.parameters(), *heads.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=options.rate, eps=1e-5)

    def judge(observation: Any, mask: Any) -> tuple[Any, Any]:
        """Who may play what, how likely, and the value."""
        features = body(observation)
        logits = heads[0](features).masked_fill(~mask, -1e9)
        return torch.distributions.Categorical(logits=logits), heads[1](features).squeeze(-1)

    def look(observation: np.ndarray, info: dict[str, Any]) -> tuple[Any, Any]:
        flat = torch.from_numpy(observation).reshape(options.num_envs, -1).float()
        return flat, torch.from_numpy(info["action_mask"]).bool()

    with busy("compiling"):
        seen = look(*envs.reset(seed=options.seed))
    running, decisions, begin = np.zeros(options.num_envs), 0, time.perf_counter()
    mean = math.nan
    for update in range(options.updates):
        optimiser.param_groups[0]["lr"] = options.rate * (1 - update / options.updates)
        steps, ended = [], list[float]()
        for _ in range(options.steps):
            with torch.no_grad():
                policy, value = judge(*seen)
                action = policy.sample()
            observation, reward, terminated, truncated, info = envs.step(action.numpy())
            over, running = terminated | truncated, running + reward
            paid, on = torch.from_numpy(reward).float(), torch.from_numpy(~over).float()
            steps.append((*seen, action, policy.log_prob(action), value, paid, on))
            ended += running[over].tolist()
            running[over] = 0
            seen = look(observation, info)
        # what a decision was worth beyond what was expected of it, generalised (GAE)
        with torch.no_grad():
            ahead, following = torch.zeros(options.num_envs), judge(*seen)[1]
        credit = []
        for *_, value, paid, on in reversed(steps):
            delta = paid + options.gamma * following * on - value
            ahead = delta + options.gamma * options.lam * on * ahead
            credit.append(ahead)
            following = value
        data = [torch.cat(part) for part in (*list(zip(*steps, strict=True))[:5], credit[::-1])]
        for _ in range(options.epochs):
            for rows in torch.randperm(len(data[0])).chunk(options.minibatches):
                flat, mask, action, old, value, advantage = (part[rows] for part in data)
                policy, now = judge(flat, mask)
                ratio = (policy.log_prob(action) - old).exp()
                scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - options.clip, 1 + options.clip)
                loss = -torch.minimum(ratio * scaled, clipped * scaled).mean()
                loss = loss + 0.5 * (now - value - advantage).square().mean()
                loss = loss - options.entropy * policy.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, 0.5)
                optimiser.step()
        decisions += options.num_envs * options.steps
        mean = float(np.mean(ended)) if ended else math.nan
        rate = decisions / (time.perf_counter() - begin)
        print(
            f"{decisions:11,} decisions, {len(ended):6,} games, mean return {mean:+.3f}, {rate:,.0f} decisions/s"
        )
    return mean


def work(options: argparse.Namespace) -> None:
    for package in ("torch", "gymnasium"):
        need(package, "this script", package)
    env = game_of(options)
    print(f"{env.id} on {device_of()}: player {options.player} learns against the uniform policy", flush=True)
    train(env, options)


def main(arguments: Sequence[str] | None = None) -> None:
    parser, count = command_parser("ppo_gymnasium.py", __doc__), whole(1, MAX_COUNT)
    add_game(parser)
    numbers: dict[str, tuple[Any, float]] = {
        "player": (whole(0, MAX_COUNT), 0),
        "num-envs": (count, 256),
        "steps": (count, 16),
        "updates": (count, 40),
        "epochs": (count, 4),
        "minibatches": (count, 4),
        "hidden": (count, 64),
        "rate": (real(0, 1, False), 5e-3),
        "gamma": (real(0, 1), 1.0),
        "lam": (real(0, 1), 0.95),
        "clip": (real(0, 1, False), 0.2),
        "entropy": (real(0, 100), 0.01),
        "seed": (whole(0, 2**32 - 1), 0),
    }
    for name, (kind, default) in numbers.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help="default: %(default)s")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()

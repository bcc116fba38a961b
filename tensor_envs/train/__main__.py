"""Train a player by self-play, rate trained players, or export their networks.

    python -m tensor_envs.train alphazero connect_four --minutes 10
    python -m tensor_envs.train alphazero gomoku --blocks 2 --channels 32 --minutes 60 --folder runs/gomoku
    python -m tensor_envs.train alphazero othello --network resnet --blocks 5 --channels 64 --minutes 60    # PyTorch
    python -m tensor_envs.train alphazero othello --minutes 60 --ray auto --num-actors 64    # a running cluster
    torchrun --nproc-per-node 4 -m tensor_envs.train alphazero othello --network resnet --minutes 60    # four learners
    python -m tensor_envs.train ppo tic_tac_toe --steps 100
    python -m tensor_envs.train alphazero my_games:DiceRace --minutes 5    # a custom game
    python -m tensor_envs.train rate tic_tac_toe --simulations 0 32 --regret
    python -m tensor_envs.train rate connect_four --search-regret 14
    python -m tensor_envs.train rate chess --engine stockfish:skill=0,depth=1 --games 20
    python -m tensor_envs.train export runs/alphazero-connect_four --to onnx

A run is a folder with its settings (config.toml), metrics of every step (metrics.jsonl), a checkpoint, the network
(weights.safetensors, which `te.agents.load` plays) and curves (curves.svg). The same command continues a run that was
interrupted, and one with a larger budget continues a run that has ended.

An --engine is stockfish, gnugo, gnubg, open_spiel:mcts:SIMULATIONS, uci:COMMAND or gtp:COMMAND, and after a colon its
options, as in gnugo:level=1: see `te.agents.engine`. It is installed and started on this machine.
"""

from __future__ import annotations

import argparse
import functools
import inspect
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensor_envs._command import (
    MAX_COUNT,
    add_rules,
    busy,
    command_parser,
    device_of,
    new_file,
    new_folder,
    real,
    run,
    say_at_signal,
    whole,
)
from tensor_envs._validate import need
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.evaluation import agents
from tensor_envs.evaluation.matches import evaluate
from tensor_envs.evaluation.oracles import regret
from tensor_envs.evaluation.ratings import arena
from tensor_envs.search.policies import MAX_EXPLORATION
from tensor_envs.solve.enumeration import solve
from tensor_envs.train import PPO, AlphaZero, Progress, TensorBoard, Trainer, WandB, distributed
from tensor_envs.train.config import RunSettings, read_config
from tensor_envs.train.network import WEIGHTS, Player, weights_file
from tensor_envs.train.network import load as load_network
from tensor_envs.train.options import add_settings, settings_of
from tensor_envs.train.parallel import connect, is_started
from tensor_envs.train.rating import CriticalPositions, exact_oracle
from tensor_envs.train.run import CHECKPOINT, CONFIG, Callback

ALGORITHMS: dict[str, type[Trainer]] = {kind.algorithm: kind for kind in (AlphaZero, PPO)}
NETWORKS = {name.lower(): f"tensor_envs.train.modules:{name}" for name in ("Dense", "ResNet", "Transformer")}
SIZES = ("hidden", "blocks", "channels", "tanh")  # settings that define a network of tinygrad
MINUTE = 60.0
OPENING = 2  # random plies before rated games that all begin with the same position
SAMPLED = 16  # first positions that are compared
RIVALS = (128, 1024)  # simulations of the playout searches that players are rated by


def make_trainer(options: argparse.Namespace, env: Env, folder: Path, rank: int = 0) -> Trainer:
    """Return the trainer of a run: settings that are not given are those of the folder or the defaults.

    Raises:
        ValueError: the folder has a run of another game, algorithm or setting, or --weights do not fit.
    """
    kind = ALGORITHMS[options.command]
    settings = settings_of(options, kind.Config)
    network = named_network(options.network, settings)
    if (folder / CONFIG).exists():
        run = read_config(folder / CONFIG, kind.algorithm, kind.Config)
        if env.id != run.env.id or (options.rules and not run.env.plays_like(env)):
            raise ValueError(f"{str(folder)!r} has a run of {run.env!r}, got {env!r}: name another --folder")
        stored = asdict(run.config) | _as_settings(run.network)
        wanted = settings | _as_settings(network)
        if name := next((name for name, value in wanted.items() if stored.get(name) != value), None):
            raise ValueError(
                f"{str(folder)!r} has a run with {name}={stored.get(name)}, got {wanted[name]}: name another --folder"
            )
    else:
        run = RunSettings(env, kind.Config(**settings), network)
    trainer: Trainer = kind.from_settings(run, options.device, folder, rank)
    if options.weights is not None:
        player = load_network(weights_file(Path(options.weights)))
        if not player.env.plays_like(trainer.env):
            raise ValueError(f"--weights must be weights for {trainer.env!r}, got those for {player.env!r}")
        check_network(player, trainer)
        trainer.assign_weights(player.weights)  # a checkpoint, from which a run continues, replaces them
    return trainer


def named_network(name: str | None, settings: dict[str, Any]) -> dict[str, Any] | None:
    """Return the class and the arguments of --network; sizes that it takes are removed from the settings.

    Raises:
        ImportError: PyTorch is not installed.
        ValueError: there is no such class, or it does not take a size that was given.
    """
    if name is None:
        return None
    need("torch", "--network", "torch")
    from tensor_envs.train.torch_network import imported_class  # its module imports PyTorch

    path = NETWORKS.get(name, name)
    sizes = {key: settings.pop(key) for key in SIZES if key in settings}
    parameters = inspect.signature(imported_class(path)).parameters
    if wrong := [key for key in sizes if key not in parameters]:
        raise ValueError(f"--{wrong[0]} must be an argument of the network {name!r}, which has none of this name")
    return {"class": path, "arguments": sizes}


def _as_settings(network: dict[str, Any] | None) -> dict[str, Any]:
    """Return a network's name and arguments as settings."""
    if network is None:
        return {}
    return {"network": network.get("class", network.get("function")), **network.get("arguments", {})}


def check_network(player: Player, trainer: Trainer) -> None:
    """Raise ValueError unless a trainer can start from the weights of a player."""
    own = trainer.trainable.architecture()
    if player.network != own:
        raise ValueError(f"--weights must be of the run's network, got {player.network}, and the run has {own}")
    if own is None and player.activation != trainer.network.activation:
        hint = "add --tanh" if player.activation == "tanh" else "leave out --tanh"
        raise ValueError(f"--weights must be of the run's activation, got {player.activation}: {hint}")
    if own is not None and player.value_scale != (scale := trainer.config.value_scale):
        raise ValueError(f"--weights must be of the run's value_scale, got {player.value_scale} instead of {scale}")


def train(options: argparse.Namespace) -> None:
    """Run a training command."""
    if options.num_actors is not None and options.ray is None:
        raise ValueError(f"--num-actors needs --ray, got {options.num_actors} without it")
    # Learners that torchrun has started get a rank and a device from it; a single process is the first learner.
    rank = 0
    if is_started():
        if options.ray is not None:
            raise ValueError(f"--ray must not be given to learners that torchrun has started, got {options.ray}")
        rank, options.device = connect(options.device)
    env = make(options.id, **dict(options.rules))
    name = f"{options.command}-{env.id.replace(':', '-').replace('/', '-')}"
    folder = options.folder or Path("runs") / name
    callbacks: list[Callback] = [Progress()]
    callbacks += [TensorBoard(folder)] if options.tensorboard else []
    callbacks += [WandB(project=options.wandb, name=folder.name)] if options.wandb else []
    with busy("compiling"):
        trainer = make_trainer(options, env, folder, rank)
    seconds = None if options.minutes is None else options.minutes * MINUTE
    # Only the first learner prints, writes and rates.
    if rank > 0:
        trainer.run(options.steps, seconds, folder)
        return
    # A trainer on a CPU counts processor time, so that other programs do not shorten a run.
    is_local = options.ray is None
    clock = "processor time" if is_local and trainer.device.startswith("CPU") else "the clock"
    budget = f"{options.steps} steps" if options.minutes is None else f"{options.minutes:g} minutes of {clock}"
    games = f"{trainer.config.num_envs} games x {trainer.config.rollout_length} decisions a step"
    print(f"{trainer.env.id}: {budget}, {games}, on {device_of(trainer.device)}, in {folder}", flush=True)
    # The command that began a run also continues it, so that the argument is no mistake.
    if options.weights is not None and (folder / CHECKPOINT).exists():
        print(f"the run goes on from its own weights, not from {options.weights}", flush=True)
    if (folder / CHECKPOINT).exists():
        for name in (CONFIG, WEIGHTS):
            if not (folder / name).exists():
                print(f"{folder} has no {name}: it is written anew, to fit the checkpoint", flush=True)
    say_at_signal(f"stopped; the same command continues the run in {folder}")
    # Actors play on the cluster, and this process learns from what they send.
    if not is_local:
        address = None if options.ray == "local" else options.ray
        common: dict[str, Any] = {"steps": options.steps, "seconds": seconds, "folder": folder, "callbacks": callbacks}
        network = trainer.trainable.for_actors()
        cluster = {"address": address, "num_actors": options.num_actors, "device": options.device}
        distributed(trainer.env, trainer.config, **common, **cluster, weights=trainer.weights(), network=network)
    else:
        trainer.run(options.steps, seconds, folder, callbacks)
    if is_local and trainer.seconds:
        print(f"{trainer.positions / trainer.seconds:,.0f} positions per second of {clock}, compiling included")


def rate(options: argparse.Namespace) -> None:
    """Run the command `rate`: ratings of uniform, playout-search and trained players, and exact regret."""
    env = make(options.id, **dict(options.rules))
    if env.num_players > 2:
        raise ValueError(f"the game must be for one or two, {env!r} has {env.num_players} players")
    if options.games % env.num_players:
        raise ValueError(f"--games must be even, got {options.games}")
    if options.engine and env.num_players != 2:
        raise ValueError(f"--engine needs a game for two, {env!r} has {env.num_players} players")
    path = options.weights or env.id
    # Regret is measured by a table of all positions or, after some random plies, by search of single ones.
    oracle = exact_oracle(env) if options.regret else None
    opening = default_opening(env) if options.opening is None else options.opening
    regret_opening = opening
    if options.search_regret is not None:
        oracle = solve(env, method="search")
        regret_opening = options.search_regret
    # Playout search is the yardstick, unless an engine is, or the user names rivals.
    rival = functools.partial(agents.playout_search, seed=1, exploration=options.exploration)
    rivals = options.rivals if options.rivals is not None else [] if options.engine else RIVALS
    players: dict[str, agents.Policy] = {f"playout search of {n}": rival(n) for n in rivals}
    players |= {f"trained, {n} simulations": agents.load(path, n) for n in options.simulations}
    if not players:
        raise ValueError("--simulations or --rivals must have a number, got none")
    games = f"{options.games} games of each {'pair' if env.num_players == 2 else 'player'}"
    plies = f" after {opening} random plies" if opening else ""
    print(f"{env.id} on {device_of()}, {games}{plies}, weights of {path}", flush=True)
    everyone = {"uniform": agents.uniform, **players}
    common: dict[str, Any] = {"opening": opening, "seed": options.seed}
    # Games for two give ratings; a game for one gives mean returns, since nobody is beaten.
    with busy("compiling and playing"):
        if options.engine:
            for name in options.engine:
                rate_by_engine(env, players, name, options.games, common)
        elif env.num_players == 2:
            print(arena(env, everyone, options.games, **common), flush=True)
        else:
            alone = {name: evaluate(env, [player], options.games, **common) for name, player in everyone.items()}
            for name, result in alone.items():
                interval = result.interval(result.returns)[0]
                print(f"{name}: mean return {result.mean_returns[0]:,.1f} +- {interval:,.1f}", flush=True)
    # The uniform player has no regret of interest, so it is left out.
    if oracle is not None:
        rate_by_oracle(env, players, oracle, options.games, common | {"opening": regret_opening})


def default_opening(env: Env) -> int:
    """Return the number of random plies before rated games: none where chance makes games differ from the start."""
    state = env.init(SAMPLED)
    first, *others = (env.state_to_dict(state, row) for row in range(SAMPLED))
    return OPENING if all(position == first for position in others) else 0


def rate_by_oracle(
    env: Env, players: dict[str, agents.Policy], oracle: agents.Oracle, games: int, settings: dict[str, Any]
) -> None:
    """Print the exact regret of players, and in how many critical positions they keep the value."""
    for name, player in players.items():
        judge = CriticalPositions(oracle)
        value = regret(env, player, judge, games, **settings)
        share = f"keeps the value in {judge.kept} of {judge.count} critical positions"
        print(f"{name}: mean exact regret {value:.5f}, {share}", flush=True)


def rate_by_engine(
    env: Env, players: dict[str, agents.Policy], name: str, games: int, settings: dict[str, Any]
) -> None:
    """Print the scores of players against an engine of others."""
    with agents.engine(name, settings["seed"]) as engine:
        for player, policy in players.items():
            result = evaluate(env, [policy, engine], games, **settings)
            low, high = result.score_range(0)
            score = f"score {result.scores[0]:.3f}, 95 % interval {low:.3f} to {high:.3f}"
            value = f"mean return {result.mean_returns[0]:+.3f} +- {result.interval(result.returns)[0]:.3f}"
            print(f"{player} against {name}: {result.tally(0)}; {score}; {value}", flush=True)


def add_training(parser: argparse.ArgumentParser, kind: type[Trainer]) -> None:
    """Add the options of a training command, one for every setting."""
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument(
        "--minutes",
        type=real(0, 1e7, False),
        help="budget in minutes of processor time, on a card of the clock, in all",
    )
    text = "budget in steps, in all; on one thread the weights then depend on the settings alone"
    budget.add_argument("--steps", type=whole(1, MAX_COUNT), help=text)
    parser.add_argument("--folder", type=new_folder, help="folder of the run; default: runs/<algorithm>-<game>")
    parser.add_argument(
        "--weights", metavar="FILE", help="weights to start from, in a new run: a file, a run's folder or a game's id"
    )
    parser.add_argument("--device", help="any tinygrad device; default: tinygrad's default device")
    text = "play by actors of a Ray cluster (extra `ray`): auto or host:port; without an address one of this machine"
    parser.add_argument("--ray", nargs="?", const="local", metavar="ADDRESS", help=text)
    parser.add_argument("--num-actors", type=whole(1, 100_000), metavar="N", help="default: one for each core or GPU")
    parser.add_argument("--tensorboard", action="store_true", help="write metrics for TensorBoard (extra `train`)")
    parser.add_argument("--wandb", metavar="PROJECT", help="log to a project of Weights & Biases (extra `train`)")
    text = (
        f"network of PyTorch (extra `torch`): {', '.join(NETWORKS)} or package.module:Class, with --hidden, --blocks "
        "and --channels as its arguments; default: a network of tinygrad"
    )
    parser.add_argument("--network", metavar="NAME", help=text)
    add_settings(parser, kind.Config)


def export(options: argparse.Namespace) -> None:
    """Run the command `export`."""
    from tensor_envs.train.export_network import export_network

    with busy("exporting"):
        out = export_network(options.run, options.to, options.out)
    print(out)


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `export`."""
    text = "folder of a run, file of weights, or a game whose weights come with the package"
    parser.add_argument("run", metavar="RUN", type=Path, help=text)
    text = (
        "safetensors: weights in float32 by the names of a module of PyTorch; onnx: the network (extra `onnx`, for "
        "JAX `onnx-jax`)"
    )
    parser.add_argument("--to", choices=("safetensors", "onnx"), required=True, help=text)
    text = "the file; default: network.safetensors or network.onnx in the folder of the run"
    parser.add_argument("--out", type=new_file, metavar="FILE", help=text)


def add_rating(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `rate`."""
    count = whole(1, MAX_COUNT)
    simulations = whole(0, 2**20)
    parser.add_argument("--weights", metavar="FILE", help="default: those that come with the package")
    text = "simulations of the trained player's search, 0 for the network alone; default: 0 and 32"
    parser.add_argument("--simulations", nargs="*", type=simulations, default=[0, 32], metavar="N", help=text)
    text = "simulations of playout search; default: 128 and 1,024, with --engine none"
    parser.add_argument("--rivals", nargs="*", type=whole(1, 2**20), metavar="N", help=text)
    text = "weight of the exploration of playout search; default: 4"
    parser.add_argument("--exploration", type=real(0, MAX_EXPLORATION), help=text)
    parser.add_argument(
        "--games", type=count, default=256, help="games of each pair, or of each player alone; default: %(default)s"
    )
    text = "random plies before each game; default: 2, or none in games that begin by chance, as by a deal"
    parser.add_argument("--opening", type=whole(0, 10_000), metavar="PLIES", help=text)
    parser.add_argument("--seed", type=whole(0, 2**32 - 2), default=1)
    text = "engines of others, which these players play instead of each other: see below"
    parser.add_argument("--engine", nargs="+", default=[], metavar="NAME", help=text)
    exact = parser.add_mutually_exclusive_group()
    text = "also compute exact regret, and the share of critical positions whose value is kept (solvable games only)"
    exact.add_argument("--regret", action="store_true", help=text)
    text = "the same after this many random plies, by search: for games that are too large to enumerate"
    exact.add_argument("--search-regret", type=whole(0, 10_000), metavar="PLIES", help=text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python -m tensor_envs.train", __doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    helps = {
        "alphazero": "AlphaZero with Gumbel search",
        "ppo": "PPO",
        "rate": "Elo or mean return, and exact regret, of weights",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("id", metavar="GAME", help="a registered game, or package.module:Name for a custom one")
        add_rules(command)
        if name in ALGORITHMS:
            add_training(command, ALGORITHMS[name])
            command.set_defaults(work=train)
        else:
            add_rating(command)
            command.set_defaults(work=rate)
    text = "write a trained network for other programs: safetensors or ONNX"
    command = commands.add_parser("export", help=text, description=text)
    add_export(command)
    command.set_defaults(work=export)
    run(parser, lambda options: options.work(options), arguments)


if __name__ == "__main__":
    main()

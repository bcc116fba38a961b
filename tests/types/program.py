"""A user's program that calls every public function, for type checkers that treat tensor_envs as installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import assert_type

import numpy as np
from tinygrad import Tensor  # needs `implicit_reexport` of mypy, see the page on installation

import tensor_envs as te
from tensor_envs import ops, referee, search, web
from tensor_envs.rules import Chance, Field, GameState, Outcome, Part, Scalar, Spec, int32, number, where


@dataclass(frozen=True)
class Nim:
    """Take 1 to 3 of a heap in turns; who takes the last one wins."""

    heap: int = 21

    @property
    def spec(self) -> Spec:
        return Spec(2, 3, (1,), (Field("left", high=self.heap, kind="int32"),), observation_dtype="int8")

    def init(self, chance: Chance) -> dict[str, int]:
        return {"left": self.heap}

    def legal_action_mask(self, s: GameState) -> list[Scalar]:
        return [s.left > action for action in range(3)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        left = s.left - action - 1
        win = left == 0
        first = where(s.current_player == 0, int32(win), -int32(win))
        return Outcome(s.replace(left=left, current_player=1 - s.current_player), (first, -first), win)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [number(s.left)]


def games() -> None:
    rules: te.Rules = Nim()
    assert_type(rules.spec.num_actions, int)
    te.register(te.GameEntry("nim_of_the_types", Nim), replace=True)
    assert_type(te.registered(), tuple[str, ...])
    env = te.make("nim_of_the_types", illegal="raise", heap=5)
    assert_type(env, te.Env)
    game = te.debug(env, game=None)
    assert_type(game, te.ScalarGame)
    assert_type(game.legal_actions(), list[int])
    assert_type(game.uniform_action(), int)
    inspection: te.Inspection = te.inspect(env, "step", device=None)
    assert_type(inspection.instructions, int)


def known_games() -> None:
    """Rules and fields of the package's games have types."""
    env = te.make("tic_tac_toe", max_plies=5)
    assert_type(env.rules.shape, tuple[int, ...])
    state = env.step(env.init(2), [0, 1])
    assert_type(state.own + env.reset(state).ply + state[[0, 1]].current_player, Tensor)
    assert_type(te.make("leduc_poker").init(1).cards, Tensor)
    anything: te.State = state
    assert_type(anything.batch, int)


def states(env: te.Env, folder: Path) -> None:
    state = env.init(batch=4, seed=1, device=None, first_row=2)
    assert_type(state, te.State)
    assert_type(env.step(state, [0, 1, 2, 3]), te.State)
    assert_type(env.step(state, np.zeros(4, np.int32)), te.State)
    state = env.step(state, te.agents.uniform(state))
    assert_type(state.legal_action_mask, Tensor)
    assert_type(state.own, Tensor)  # a field of the game
    assert_type(state.numpy()["rewards"], np.ndarray)
    assert_type(state.batch, int)
    assert_type(env.observe(state, player=1), Tensor)
    assert_type(env.reset(state), te.State)
    assert_type(te.text.describe(env) + te.text.prompt(state), str)
    assert_type(te.text.parse(env, "(2,2)", env.init(1)), int)
    assert_type(env.take(state, [1, 1]), te.State)
    assert_type(state[[2, 0]], te.State)
    assert_type(env.put(state, [1, 0], state[[0, 1]]), te.State)
    assert_type(te.concat([state, state]), te.State)
    assert_type(te.where(state.terminated, env.init(4), state), te.State)
    assert_type(env.to_string(state, 0), str)
    assert_type(env.render(state, 0), str)
    assert_type(env.action_to_string(4), str)
    assert_type(env.string_to_action("(1,1)"), int)
    assert_type(env.state_from_dicts([env.state_to_dict(state, 0)]), te.State)
    assert_type(next(env.symmetries()), te.Symmetry)
    assert_type(te.contact_sheet(state, rows=[0, 1]), str)
    te.save_animation([state], folder / "game.svg", 0)
    te.save_state(state, folder / "state.safetensors")
    assert_type(te.load_state(folder / "state.safetensors"), te.State)
    assert_type(env.legal_actions(state, 1), dict[int, str])
    game = te.record(env, [0, "(1,1)"], seed=1)
    assert_type(game, te.Record)
    assert_type(game.names, tuple[str, ...])
    te.save_game(game, folder / "game.jsonl")
    assert_type(te.replay(te.load_game(folder / "game.jsonl")), te.State)
    assert_type(te.to_numpy(state.rewards), np.ndarray)
    assert_type(te.from_numpy(np.zeros(4, np.float32)), Tensor)
    assert_type(te.from_dlpack(te.to_dlpack(state.rewards)), Tensor)


def page(folder: Path) -> dict[str, int]:
    """Type-check `web.build`; a call would compile for seconds."""
    return web.build(folder / "site", ["tic_tac_toe"], pyodide=None)


def only_looked_at(state: te.State) -> te.State:
    """Type-check calls that need PyTorch or take long to run."""
    assert_type(te.testing.check_env(state.env, steps=8), dict[str, str])

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        return state.legal_action_mask.float(), state.ply.float()

    class MaskOracle(te.agents.Oracle):
        def best_actions(self, state: te.State) -> Tensor:
            return state.legal_action_mask

        def regret(self, state: te.State, action: np.ndarray) -> Tensor:
            return state.rewards[:, 0]

    mixed = te.agents.league([te.agents.uniform, te.agents.greedy(evaluate)], weights=[1, 2.5], seed=3)
    assert_type(mixed, te.agents.Policy)
    network = (te.agents.greedy(evaluate), te.agents.gumbel(evaluate, num_simulations=4))
    assert_type(te.agents.load("tic_tac_toe", num_simulations=0), te.agents.Policy)
    assert_type(te.regret(state.env, network[0], MaskOracle(), games=8), float)
    result = search.gumbel_muzero_policy(state, evaluate, num_simulations=8, chance="sampled")
    assert_type(result.action_weights, Tensor)
    assert_type(search.muzero_policy(state, evaluate, num_simulations=8), search.SearchOutput)

    def by_numpy(state: te.State) -> tuple[np.ndarray, np.ndarray]:
        return te.to_numpy(state.legal_action_mask).astype(np.float32), np.zeros(state.batch, np.float32)

    assert_type(search.gumbel_muzero_policy(state, by_numpy), search.SearchOutput)
    return state.env.step(state, te.from_torch(te.to_torch(te.agents.uniform(state))))


def loops() -> None:
    env = te.make("tic_tac_toe")

    @te.jit
    def act(state: te.State, weights: Tensor, scale: float = 1.0) -> tuple[te.State, Tensor]:
        logits = te.masked_logits(scale * (env.observe(state).flatten(1).float() @ weights), state.legal_action_mask)
        action = te.sample_action(logits, state.legal_action_mask, state.action_key, state.ply)
        return env.step(state, action), logits

    state, logits = act(env.init(4), Tensor(np.zeros((18, 9), np.float32)), scale=2.0)
    assert_type(state, te.State)
    assert_type(logits, Tensor)
    vector = te.VectorEnv(env, 4, seed=0, autoreset="next_step", observe=True, final_states=True)
    assert_type(vector, te.VectorEnv)
    transition = vector.step_uniform()
    assert_type(transition, te.Transition)
    assert_type(vector.step([0, 1, 2, 3]).rewards, Tensor)
    assert_type(vector.step_uniform().final_state, te.State)
    assert_type(vector.observation, Tensor)
    result = te.rollout(env, "uniform", batch=4, steps=9, count_actions=True)
    assert_type(result.legal_counts, Tensor)
    tree = te.search.playout_policy(env.init(4), 4, count_actions=True).search_tree
    assert_type(tree.playouts, te.DecisionCounts)
    assert_type(result.turns, Tensor)
    assert_type(result.event_counts, dict[str, Tensor])
    assert_type(env.events(env.init(4), [0, 1, 2, 3]), dict[str, Tensor])
    assert_type(result, te.Rollout)
    assert_type(te.rollout_from(result.state, te.agents.uniform, steps=2).wins, Tensor)
    assert_type(te.playout(env.init(2), num_playouts=4), Tensor)
    search_result = search.playout_policy(env.init(2), num_simulations=8)
    assert_type(search_result, search.SearchOutput)
    assert_type(search_result.action, Tensor)
    assert_type(search_result.search_tree, search.SearchTree)
    tree = search.playout_policy(env.init(2), 4, keep_tree=True).search_tree
    assert_type(search.subtree(tree, [0, 1]), search.SearchTree)
    assert_type(search.playout_policy(env.init(2), 4, tree=tree), search.SearchOutput)
    assert_type(tree.to_svg(0, nodes=9), str)
    assert_type(search.flat_monte_carlo(env.init(2), 16), np.ndarray)
    zero, first = np.zeros(1, np.float32), np.array([[1, 0]], np.float32)
    te.advantages([(0 * first, first, zero, zero, zero + 1)], first, zero, gamma=1.0, gae_lambda=0.95)
    policies: list[te.agents.Policy] = [te.agents.perfect(), te.agents.uniform]
    evaluation = te.evaluate(env, policies, games=4, seats="rotate", opening=2)
    assert_type(evaluation, te.Evaluation)
    assert_type(evaluation.scores, np.ndarray)
    ratings = te.arena(env, {"perfect": te.agents.perfect(), "search": te.agents.playout_search(8)}, games=2)
    assert_type(ratings, te.Ratings)
    counts = te.perft(env, depth=2, unique=True, symmetry=True)
    assert_type(counts, te.Perft)
    assert_type(counts.sequences, list[int])
    assert_type(counts.plies[1].ended, Mapping[tuple[float, ...], int])
    assert_type(counts.plies[1].positions, int | None)
    solution = te.solve(env, depth=None, symmetry=False, path=None)
    assert_type(solution.depth, int | None)
    assert_type(solution, te.Solution)
    searched = te.solve(env, method="search", memory=2**20)
    assert_type(searched, te.SearchSolution)
    assert_type(searched.nodes, int)
    oracles: list[te.Oracle] = [solution, searched]
    assert_type(oracles, list[te.Oracle])
    assert_type(te.regret(env, te.agents.perfect(solution), solution, games=2), float)
    assert_type(te.text.reward(te.record(env, [0]), te.PlayoutOracle(8)), list[float])
    te.set_num_threads(te.num_threads())
    share = te.shard(1000, rank=0, world_size=3)
    assert_type(share, te.Shard)
    assert_type(te.rollout(env, "uniform", share.batch, 2, first_row=share.first_row), te.Rollout)
    assert_type(te.__version__, str)


def rival(name: str) -> te.agents.Policy:
    """Return an engine of others, which not everybody has installed."""
    return te.agents.engine(name)


def reading() -> None:
    env = te.make("tic_tac_toe")
    players = [referee.packaged("uniform", env), referee.Participant("silent", ask=str.upper)]
    settings = referee.Settings(tries=1, disguise=("renamed",))
    records = list(referee.tournament(env, players, games=2, settings=settings))
    assert_type(records, list[te.Record])
    assert_type(referee.play(env, players, seed=1), te.Record)
    assert_type(referee.scores(records)[0].regret, float)
    assert_type(referee.ratings(records), te.Ratings)
    assert_type(referee.Disguise(env, ["permuted"]).spell("(0,0)"), str)


def hidden(folder: Path) -> None:
    env = te.make("kuhn_poker")
    tree = te.game_tree(env, max_nodes=1000, progress=False)
    assert_type(tree, te.GameTree)
    assert_type(tree.states, te.State)
    assert_type(len(tree) + tree.nodes, int)
    found = te.equilibrium(tree, "cfr+", iterations=50, until=None, seed=1)
    assert_type(found, te.Equilibrium)
    assert_type(found.curve, tuple[tuple[int, float], ...])
    oracles: list[te.Oracle] = [found]
    found.save(folder / "equilibrium")
    assert_type(te.resolve(env.init(2), 0, found, weights=[1, 2], iterations=5), te.Equilibrium)
    assert_type(te.Equilibrium.load(folder / "equilibrium"), te.Equilibrium)
    assert_type(te.exploitability(env, found), float)
    zeros = np.zeros((54, 2), np.float32)  # one row for each of the game's histories
    chances = te.agents.softmax(lambda s: (te.from_numpy(zeros[: s.batch]), te.from_numpy(zeros[: s.batch, 0].copy())))
    assert_type(te.best_response(env, chances, player=1), te.TabularPolicy)
    player: te.agents.Policy = te.agents.equilibrium(found)
    assert_type(te.exploitability_bound(env, player, [player], games=4), te.ExploitabilityBound)
    assert_type(te.regret(env, player, oracles[0], games=2), float)


def boards() -> None:
    board = np.array([[1, 1, 1], [0, -1, 0], [-1, 0, 0]], np.int8)
    assert_type(ops.winner(board, k=3), Tensor)
    assert_type(ops.count_lines(board, k=3), Tensor)
    assert_type(ops.find_lines(board, k=3), list[ops.Line])
    assert_type(ops.kronecker_delta(3, 2), Tensor)
    assert_type(ops.line_kernels(2, 3)[1, 1], Tensor)
    assert_type(next(iter(ops.line_convolution(board, 3).values())), Tensor)
    assert_type(ops.num_directions(2), int)
    assert_type(ops.num_lines((3, 3), 3), int)
    for direction in ops.line_directions(2):
        assert ops.placements((3, 3), 3, direction) == len(list(ops.starts((3, 3), 3, direction)))


def training() -> None:
    env, config = te.make("kuhn_poker"), te.train.PPOConfig(num_envs=4, rollout_length=2, minibatches=1, ratings=0)
    metrics = list[dict[str, float]]()
    trainer = te.train.PPO(env, config, device=None)
    assert_type(trainer.run(steps=1, callbacks=[lambda _, line: metrics.append(line)]), dict[str, float])
    assert_type(trainer.config.clip, float)
    assert_type(te.train.AlphaZeroConfig().num_simulations, int)
    with TemporaryDirectory() as folder:
        trainer.save(folder)
        assert_type(te.train.PPO.load(folder), te.train.PPO)


def laboratory() -> None:
    report = te.lab.measure(te.lab.variants(te.make("kuhn_poker"), {}), players=["uniform", 2], games=32)
    assert_type(report, te.lab.Report)
    assert_type(report.ranking, list[te.lab.Standing])
    assert_type(report.to_json(), str)
    assert_type(report.base.numbers["uniform", "plies"].half_width, float)


def main() -> None:
    games()
    known_games()
    with TemporaryDirectory() as folder:
        states(te.make("tic_tac_toe"), Path(folder))
        hidden(Path(folder))
        reading()
    loops()
    boards()
    training()
    laboratory()


if __name__ == "__main__":
    main()

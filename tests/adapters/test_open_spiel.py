"""OpenSpiel plays the games: its simulations, its searches, its observers."""

import numpy as np
import pytest

pytestmark = pytest.mark.extra("pyspiel")
pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import cfr, exploitability, mcts, minimax  # noqa: E402
from open_spiel.python.observation import make_observation  # noqa: E402

import tensor_envs as te  # noqa: E402
import tensor_envs.adapters.open_spiel  # noqa: E402
from tensor_envs import registry  # noqa: E402
from tests.games import dice_race  # noqa: E402
from tests.games.shared import shared_env  # noqa: E402

SHORT = {"three_will": "to_win=1", "shed": "cards=4"}


@pytest.mark.few("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "shed")
@pytest.mark.parametrize("name", te.registered())
def test_simulations(name: str) -> None:
    """pyspiel compares clones, histories, legal actions and returns over whole random games."""
    game = pyspiel.load_game(f"tensor_envs_{name}({SHORT.get(name, '')})")
    pyspiel.random_sim_test(game, num_sims=1, serialize=not shared_env(name).spec.chance, verbose=False)


def test_the_same_game() -> None:
    """Masks, players, observations, ends and returns agree with a batch at every ply."""
    game, env = pyspiel.load_game("tensor_envs_tensor_stars"), shared_env("tensor_stars")
    spiel, state, observation = game.new_initial_state(), env.init(1), make_observation(game)
    returns, hidden = np.zeros(2), 0
    while not spiel.is_terminal():
        now = state.numpy()
        legal = now["legal_action_mask"][0].nonzero()[0].tolist()
        assert spiel.legal_actions() == legal and spiel.current_player() == now["current_player"][0]
        assert spiel.action_to_string(legal[0]) == env.action_to_string(legal[0])
        assert spiel.returns() == [0, 0]
        for player in range(2):
            observation.set_from(spiel, player)
            assert (observation.tensor == env.observe(state, player).numpy().reshape(-1)).all()
            assert observation.string_from(spiel, player) == env.to_string(state, 0, player).rstrip()
            hidden += "[?]" in observation.string_from(spiel, player)
        action = int(te.agents.uniform(state).item())
        spiel.apply_action(action)
        state = env.step(state, [action])
        returns += state.rewards.numpy()[0]
    assert spiel.returns() == returns.tolist() and state.terminated.item() and hidden


def test_searches() -> None:
    """OpenSpiel's minimax finds the value of its own game, and its Monte Carlo tree search beats the uniform player."""
    ours = pyspiel.load_game("tensor_envs_connect_four(rows=3,columns=3,k=3)")
    theirs = pyspiel.load_game("connect_four(rows=3,columns=3,x_in_row=3)")
    value, _ = minimax.alpha_beta_search(ours)
    assert value == minimax.alpha_beta_search(theirs)[0]
    rng = np.random.RandomState(5)
    for name in ("tic_tac_toe", "shed(cards=5)", "three_will(to_win=1,max_turns=60)"):
        game = pyspiel.load_game(f"tensor_envs_{name}")
        bot = mcts.MCTSBot(game, 2, 20, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
        state = game.new_initial_state()
        for _ in range(3):
            while state.is_chance_node():
                state.apply_action(0)
            assert bot.step(state) in state.legal_actions()
            state.apply_action(state.legal_actions()[0])


def test_chance() -> None:
    """Clones have independent chance, which a seed repeats."""
    game = pyspiel.load_game("tensor_envs_three_will(seed=3)")
    first, again = (pyspiel.load_game("tensor_envs_three_will(seed=3)").new_initial_state() for _ in range(2))
    state = game.new_initial_state()
    assert state.is_chance_node() and state.chance_outcomes() == [(0, 1.0)] and "chance" in str(state)
    with pytest.raises(ValueError, match="chance has not yet begun the game"):
        state.state  # noqa: B018
    for one in (state, first, again):
        one.apply_action(0)
    assert str(first) == str(again) == str(state)
    state.apply_action(state.legal_actions()[0])
    boards = set()
    for _ in range(8):
        clone = state.clone()
        clone.apply_action(0)
        boards.add(str(clone))
    assert len(boards) > 1 and state.is_chance_node()


def test_counterfactual_regret_minimisation() -> None:
    """Exploitability on Kuhn poker equals that of OpenSpiel's game after every round."""
    results = []
    for name in ("kuhn_poker", "tensor_envs_kuhn_poker"):
        game = pyspiel.load_game(name)
        solver, values = cfr.CFRSolver(game), []
        for _ in range(5):
            for _ in range(4):
                solver.evaluate_and_update_policy()
            values.append(exploitability.exploitability(game, solver.average_policy()))
        assert len(solver._info_state_nodes) == 12
        results.append(values)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9)
    assert results[0][-1] < 0.05 < results[0][0]


def test_first_states_are_outcomes_of_chance() -> None:
    """Deals are explicit outcomes where chance only deals; later dice are not."""
    leduc = pyspiel.load_game("tensor_envs_leduc_poker")
    state = leduc.new_initial_state()
    assert leduc.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    assert leduc.max_chance_outcomes() == 120
    assert state.chance_outcomes() == [(deal, 1 / 120) for deal in range(120)]
    cards = set()
    for deal in range(120):
        state = leduc.new_initial_state()
        state.apply_action(deal)
        fields = state.state.numpy()
        cards.add((*fields["cards"][0].tolist(), fields["public"][0].item()))
        assert not state.is_chance_node() and state.legal_actions() == [1, 2]
    assert len(cards) == 120
    three_will = pyspiel.load_game("tensor_envs_three_will").get_type()
    assert three_will.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC


def test_information_states_contain_the_history() -> None:
    """Information states contain a player's history, and so distinguish equal positions for that player alone."""
    game = pyspiel.load_game("tensor_envs_kuhn_poker")
    deals_by_information: dict[str, set[int]] = {}
    for deal in range(6):
        state = game.new_initial_state()
        assert state.information_state_string(0) == ""
        state.apply_action(deal)
        card = state.state.numpy()["cards"][0, 0].item()
        state.apply_action(0)
        state.apply_action(1)
        text = state.information_state_string(0)
        assert text.startswith("player 0 ") and text.count(" did 0 ") == 1 and "did 1" not in text
        deals_by_information.setdefault(text, set()).add(card)
    assert sorted(map(tuple, deals_by_information.values())) == [(0,), (1,), (2,)]


def test_custom_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", {})
    te.register(dice_race.GAME)
    game = pyspiel.load_game("tensor_envs_dice_race(goal=9)")
    assert game.num_players() == 3 and game.max_game_length() == te.make("dice_race").spec.max_plies
    pyspiel.random_sim_test(game, num_sims=2, serialize=False, verbose=False)

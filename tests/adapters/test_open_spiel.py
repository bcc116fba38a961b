"""OpenSpiel plays the games: its simulations, its searches, its observers."""

import pickle
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.extra("pyspiel")
pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import cfr, exploitability, ismcts, mcts, minimax  # noqa: E402
from open_spiel.python.observation import make_observation  # noqa: E402

import tensor_envs as te  # noqa: E402
import tensor_envs.adapters.open_spiel  # noqa: E402
from tensor_envs.envs import registry  # noqa: E402
from tests.games import dice_race  # noqa: E402
from tests.games.shared import shared_env  # noqa: E402

SHORT = {"three_will": "to_win=1", "shed": "cards=4"}


@pytest.mark.few("tic_tac_toe", "y", "kuhn_poker", "leduc_poker", "shed")
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


@pytest.mark.slow
def test_names_of_chess_are_absolute() -> None:
    """Names are those of the Universal Chess Interface, for Black as well, and promotions by the piece that moves."""
    state = pyspiel.load_game("tensor_envs_chess").new_initial_state()
    env = shared_env("chess")
    for name in ("e2e4", "e7e5", "g1f3"):
        names = {state.action_to_string(action): action for action in state.legal_actions()}
        assert sorted(names) == sorted(env.legal_actions(state.state).values())
        state.apply_action(names[name])
    assert str(state).splitlines()[3].startswith("5 . . . . p")


@pytest.mark.slow
def test_searches() -> None:
    """OpenSpiel's minimax finds the value of its own game, and its Monte Carlo tree search beats the uniform player."""
    ours = pyspiel.load_game("tensor_envs_connect_four(rows=3,columns=3,k=3)")
    theirs = pyspiel.load_game("connect_four(rows=3,columns=3,x_in_row=3)")
    value, _ = minimax.alpha_beta_search(ours)
    assert value == minimax.alpha_beta_search(theirs)[0]
    rng = np.random.RandomState(5)
    # none with chance in later states: a node of that search has the legal actions of the outcome that it saw first
    for name in ("tic_tac_toe", "shed(cards=5)"):
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


def play(state: Any, rng: np.random.Generator, plies: int) -> Any:
    """Play random actions, and outcomes of chance, up to a decision."""
    while not state.is_terminal() and (plies or state.is_chance_node()):
        chance = state.is_chance_node()
        actions = [outcome for outcome, _ in state.chance_outcomes()] if chance else state.legal_actions()
        state.apply_action(int(rng.choice(actions)))
        plies -= not chance
    return state


def test_deals_are_resampled_from_an_information_state() -> None:
    """Samples are the deals with the player's information state, as often as each other, with their own histories."""
    rng = np.random.default_rng(1)
    for name, plies in (("kuhn_poker", 1), ("leduc_poker", 1), ("leduc_poker", 3)):
        game = pyspiel.load_game(f"tensor_envs_{name}")
        state = play(game.new_initial_state(), rng, plies)
        actions = state.history()[1:]
        for player in range(2):
            known, expected = state.information_state_string(player), set()
            for deal, _ in game.new_initial_state().chance_outcomes():
                other = game.new_initial_state()
                other.apply_action(deal)
                reached = all(a in other.legal_actions() and other.apply_action(a) is None for a in actions)
                if reached and other.information_state_string(player) == known:
                    expected.add(deal)
            numbers, seen = iter(np.linspace(0, 1, 40 * len(expected), endpoint=False).tolist()), Counter[int]()
            for _ in range(40 * len(expected)):
                sample = state.resample_from_infostate(player, lambda: next(numbers))  # noqa: B023
                assert sample.information_state_string(player) == known and sample.history()[1:] == actions
                assert sample.legal_actions() == state.legal_actions()
                seen[sample.history()[0]] += 1
            assert len(expected) > 1 and seen == dict.fromkeys(expected, 40)
    with pytest.raises(ValueError, match=r"player_id must be in 0\.\.1, got 2"):
        state.resample_from_infostate(2, lambda: 0.5)


def test_hidden_cards_are_resampled() -> None:
    """Where chance is sampled, determinize resamples: the player's information stays, the top card changes."""
    state = play(pyspiel.load_game("tensor_envs_three_will(seed=1)").new_initial_state(), np.random.default_rng(0), 6)
    player, sampler = state.current_player(), pyspiel.UniformProbabilitySampler(0.0, 1.0)
    cards = set()
    for _ in range(12):
        sample = state.resample_from_infostate(player, sampler)
        assert sample.information_state_string() == state.information_state_string()
        assert sample.legal_actions() == state.legal_actions() and sample.history() == state.history()
        cards.add(sample.state.ces.item())
        play(sample, np.random.default_rng(1), 2)
    assert len(cards) > 2
    dice = play(pyspiel.load_game("tensor_envs_backgammon").new_initial_state(), np.random.default_rng(0), 2)
    assert str(dice.resample_from_infostate(0, sampler)) == str(dice)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "three_will(to_win=1,max_turns=40)"])
def test_information_set_searches(name: str) -> None:
    """OpenSpiel's information-set MCTS chooses legal moves, and folds no winning hand of Kuhn poker."""
    game, rng = pyspiel.load_game(f"tensor_envs_{name}"), np.random.RandomState(3)
    simulations = 30 if "will" in name else 300
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 2.0, simulations, random_state=rng)
    state, chance = game.new_initial_state(), np.random.default_rng(2)
    for _ in range(3):
        play(state, chance, 0)
        if state.is_terminal():
            break
        action = bot.step(state)
        assert action in state.legal_actions()
        state.apply_action(action)
    if name != "kuhn_poker":
        return
    kings = 0
    for deal in range(6):
        state = game.new_initial_state()
        for action in (deal, 0, 1):  # check, bet
            state.apply_action(action)
        if state.state.cards.numpy()[0, 0] == 2:
            kings += bot.step(state) == 1  # calls
    assert kings == 2


def test_information_state_tensors() -> None:
    """A tensor distinguishes exactly the information states that texts distinguish, in all of Kuhn and Leduc poker."""
    for name, nodes in (("kuhn_poker", 12), ("leduc_poker", 936)):
        game = pyspiel.load_game(f"tensor_envs_{name}")
        assert game.get_type().provides_information_state_tensor
        pairs, waiting = set(), [game.new_initial_state()]
        while waiting:
            state = waiting.pop()
            if state.is_terminal():
                continue
            if not state.is_chance_node():
                tensor = tuple(state.information_state_tensor())
                assert len(tensor) == game.information_state_tensor_size()
                pairs.add((state.information_state_string(), tensor))
            actions = [a for a, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()
            waiting += [state.child(action) for action in actions]
        assert len(pairs) == len({text for text, _ in pairs}) == len({tensor for _, tensor in pairs}) == nodes
    assert not pyspiel.load_game("tensor_envs_three_will").get_type().provides_information_state_tensor
    observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    state = play(game.new_initial_state(), np.random.default_rng(0), 3)
    observer.set_from(state, 1)
    moves = state.history()[1:]
    assert observer.dict["player"].tolist() == [0, 1]
    assert observer.dict["actions"][:3].argmax(1).tolist() == [0, moves[1], 0]
    assert observer.dict["actions"].sum() == 1


def test_states_are_copied_and_pickled() -> None:
    game = pyspiel.load_game("tensor_envs_leduc_poker")
    state = play(game.new_initial_state(), np.random.default_rng(0), 2)
    again, clone = pickle.loads(pickle.dumps(state)), state.clone()
    assert str(again) == str(clone) == str(state)
    clone.apply_action(clone.legal_actions()[0])
    clone.returns().append(1.0)
    assert len(state.history()) == 3 and len(clone.returns()) == 2


@pytest.mark.parametrize("text", ["tic_tac_toe", "shed(cards=6,seed=3)", "kuhn_poker", "backgammon(seed=5)"])
def test_games_are_pickled(text: str) -> None:
    game = pyspiel.load_game(f"tensor_envs_{text}")
    again = pickle.loads(pickle.dumps(game))
    assert str(again) == str(game) and again.get_parameters() == game.get_parameters()
    assert again.num_distinct_actions() == game.num_distinct_actions()
    states = [play(one.new_initial_state(), np.random.default_rng(1), 4) for one in (game, again)]
    assert states[0].history() == states[1].history() and str(states[0]) == str(states[1])


def test_trees_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree drops what it keeps once it has become large; states go on, and results are the same."""
    monkeypatch.setattr(tensor_envs.adapters.open_spiel, "CACHE_SIZE", 50)
    game = pyspiel.load_game("tensor_envs_tic_tac_toe")
    for seed in range(12):
        rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
        state, env = play(game.new_initial_state(), rng, 20), te.make("tic_tac_toe")
        plain, returns = env.init(1), np.zeros(2)
        while not plain.terminated.item():
            plain = env.step(plain, [int(same.choice(np.flatnonzero(plain.legal_action_mask.numpy()[0])))])
            returns += plain.rewards.numpy()[0]
        assert state.returns() == returns.tolist()
    assert game.tree._kept <= 50


@pytest.mark.slow
def test_cfr_takes_at_most_five_times_as_long_as_with_openspiels_own_game() -> None:
    """Rounds of CFR in Python, in CPU time, alternating."""
    solvers = [cfr.CFRSolver(pyspiel.load_game(name)) for name in ("tensor_envs_leduc_poker", "leduc_poker")]
    times: list[list[float]] = [[], []]
    for _ in range(9):
        for solver, spent in zip(solvers, times, strict=True):
            start = time.process_time()
            solver.evaluate_and_update_policy()
            spent.append(time.process_time() - start)
    ratio = np.median(times[0]) / np.median(times[1])
    print(f"CFR on Leduc poker: {ratio:.1f} times OpenSpiel's own game")
    assert ratio < 5


def test_parameters_are_the_rules() -> None:
    """A game has the rule fields of its text, also where their default depends on other fields."""
    for text, hand in (("", 5), ("players=4", 4), ("players=4,hand_size=5", 5)):
        game = pyspiel.load_game(f"tensor_envs_hanabi({text})")
        assert game.tree.env.rules.hand_size == hand
        assert pyspiel.load_game(str(game)).tree.env.rules == game.tree.env.rules
    with pytest.raises(ValueError, match="seed must be in -1"):
        pyspiel.load_game("tensor_envs_hanabi(seed=-5)")

"""Tensor (stars): the tensor engine against the reference, ply by ply; hidden information; budgets."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.tensor_stars.notation import to_dict
from tests.games.chance import draw, game_key, policy_key, uniform_action, words
from tests.games.lockstep import replay_traces
from tests.games.shared import observe, shared_env
from tests.games.tensor_stars.positions import LARGE_BOARD, ODD_DECK
from tests.games.tensor_stars.reference import CARDS, COMMIT, ORDER, OVER, Reference
from tests.games.tensor_stars.test_reference import CONFIGS, VARIANT_2

BATCH = 40  # of one size, since a kernel is traced anew for every size

VARIANTS: tuple[dict[str, Any], ...] = (
    *CONFIGS,
    {"deck": ODD_DECK, "star_rule": "opposite"},
    {"deck": ODD_DECK, "ask_order": "always", "win_check": "piece", "random_colours": True, **VARIANT_2},
    {"board": LARGE_BOARD, "max_hands": 300},
)


def plain_games(env: te.Env, state: te.State) -> Iterator[dict[str, Any]]:
    """Return every game of a batch as `env.state_to_dict` gives it."""
    columns = {name: values.tolist() for name, values in state.numpy().items()}
    for row in range(len(state)):
        yield to_dict(env.rules, {name: column[row] for name, column in columns.items()})


def lockstep(config: dict[str, Any], batch: int, plies: int, look: int, seed: int = 11) -> int:
    """Play uniformly on both engines and return the number of finished games; observe every `look` plies, if any."""
    env = shared_env("tensor_stars", **config)
    state = env.init(batch, seed)
    games = [Reference(game_key(seed, row, 0), **config) for row in range(batch)]
    policies = [policy_key(seed, row) for row in range(batch)]
    for ply in range(plies):
        lists = [game.legal_actions() for game in games]
        assert [np.flatnonzero(row).tolist() for row in state.numpy()["legal_action_mask"]] == lists, ply
        if look and ply % look == 0:
            for player in (0, 1):
                expected = np.array([game.observation(player) for game in games], np.float32)
                assert np.allclose(observe(state, player), expected, atol=1e-6), (ply, player)
        actions = [uniform_action(key, ply, legal) if legal else 0 for key, legal in zip(policies, lists, strict=True)]
        state = env.step(state, actions)
        for game, legal, action in zip(games, lists, actions, strict=True):
            game.rewards = [0.0, 0.0]
            if legal:
                game.apply(action)
        assert list(plain_games(env, state)) == [game.to_dict() for game in games], ply
        now = state.numpy()
        assert now["rewards"].tolist() == [game.rewards for game in games], ply
        assert now["terminated"].tolist() == [game.terminated for game in games], ply
        assert now["truncated"].tolist() == [game.truncated for game in games], ply
        if not any(lists):
            break
    return sum(game.phase == OVER for game in games)


# By number in VARIANTS: every rule field with every value; observations also with other boards, points and colours.
FAST = {0: 9, 2: 0, 3: 0, 5: 0, 8: 0, 10: 0, 13: 9, 14: 9}


@pytest.mark.few("0")
@pytest.mark.parametrize("number", FAST)
def test_lockstep(number: int) -> None:
    ended = lockstep(VARIANTS[number], batch=BATCH, plies=54, look=FAST[number])
    assert ended > 0 or "points_to_win" in VARIANTS[number]


@pytest.mark.slow
@pytest.mark.parametrize("config", VARIANTS, ids=range(len(VARIANTS)))
def test_long_lockstep(config: dict[str, Any]) -> None:
    assert lockstep(config, batch=250, plies=300, look=25, seed=5) > 125


@pytest.mark.slow
@pytest.mark.parametrize("config", VARIANTS, ids=range(len(VARIANTS)))
def test_invariants_of_ten_thousand_games(config: dict[str, Any]) -> None:
    """Check the invariants of section 8 on whole batches, without the reference."""
    env = shared_env("tensor_stars", **config)
    rules, board = env.rules, env.rules.board
    vector = te.VectorEnv(env, 10_000, seed=6, autoreset="disabled")
    returns = np.zeros((10_000, 2))
    spaces = np.isin(np.arange(-1, board.size), [-1, *board.spaces])
    for _ in range(400):
        returns += vector.step_uniform().rewards.numpy()
        s = vector.state.numpy()
        pos = np.sort(s["pos"], axis=1)
        assert spaces[pos + 1].all(), "I1"
        assert ((np.diff(pos, axis=1) > 0) | (pos[:, 1:] == -1)).all(), "I1"
        assert rules.points_to_win > 1 or (pos >= 0).all(), "I1"
        hands, commit = s["hand"][:, :, None] >> np.arange(CARDS, dtype=np.uint32) & 1, s["commit"]
        assert (hands.sum(2) + (commit >= 0).sum(2) == CARDS - 3 * s["turn"][:, None]).all(), "I2"
        for card in range(CARDS):
            assert ((commit == card).sum(2) + hands[:, :, card] <= 1).all(), "I2"
        assert ((commit >= 0).sum((1, 2)) == s["placed"]).all()
        placing = s["placed"] < 6
        assert not (s["cursor"][placing].any() or s["scored"][placing].any()), "I3"
        assert (s["mover"][placing] == -1).all(), "nothing is resolving"
        assert (s["current_player"][placing] == s["placed"][placing] // 3).all(), "I3"
        over = s["terminated"] | s["truncated"]
        assert (s["terminated"] == (s["winner"] >= 0)).all(), "I4"
        assert (s["legal_action_mask"].any(1) == ~over).all(), "I4"
        full = s["points"] == rules.points_to_win
        assert (full == (s["winner"][:, None] == np.arange(2))).all(), "I5"
        assert (s["points"] <= rules.points_to_win).all(), "I5"
        asked = (s["placed"] == 6) & ~over
        card = commit[np.arange(10_000), s["current_player"], s["cursor"] // 2][asked]
        assert np.array([c.either for c in rules.deck])[card].all(), "I7"
        assert (s["ply"] <= 36 * rules.max_hands).all(), "I12"
        assert (returns.sum(1) == 0).all() and (returns.any(1) == s["terminated"]).all(), "I13"
        if over.all():
            break
    assert over.mean() > 0.5


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces("tensor_stars", BATCH) == 8


def random_positions(phase: int, count: int, config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return positions of random games with face-down cards of a player who is not to move."""
    found: list[dict[str, Any]] = []
    for row in range(99):
        game, policy, ply = Reference(game_key(8, row, 0), **config), policy_key(8, row), 0
        while legal := game.legal_actions():
            placed = game.commit[0][2] >= 0 if phase == COMMIT else game.cursor < 4
            if game.phase == phase and placed:
                found.append(game.to_dict())
            game.apply(uniform_action(policy, ply, legal))
            ply += 1
    return found[:count]


@pytest.mark.few("{}-0")
@pytest.mark.parametrize("phase", [COMMIT, ORDER])
@pytest.mark.parametrize("config", [{}, {"random_colours": True, **VARIANT_2}], ids=str)
def test_what_lies_face_down_does_not_show(phase: int, config: dict[str, Any]) -> None:
    """Check that other hidden cards of the opponent look the same, also while a turn resolves (I10)."""
    env, games = shared_env("tensor_stars", **config), random_positions(phase, BATCH, config)
    assert len(games) == BATCH
    for player in (0, 1):
        others = [with_other_cards(game, 1 - player, index) for index, game in enumerate(games)]
        changed = sum(game != other for game, other in zip(games, others, strict=True))
        assert changed > (0 if phase == COMMIT and player == 0 else 20)  # who places first sees few cards placed
        before, after = (env.state_from_dicts(batch) for batch in (games, others))
        assert (observe(before, player) == observe(after, player)).all()
        to_move = before.current_player.numpy() == player
        assert (before.legal_action_mask.numpy() == after.legal_action_mask.numpy())[to_move].all()


def with_other_cards(game: dict[str, Any], player: int, index: int) -> dict[str, Any]:
    """Return the position with other unplayed cards of the player in place of the face-down ones."""
    other: dict[str, Any] = json.loads(json.dumps(game))
    hand, commit = other["hand"][player], other["commit"][player]
    face_down = [q for q in range(3) if commit[q] >= 0 and (game["phase"] == COMMIT or q > game["cursor"] // 2)]
    for q in face_down:
        hand[commit[q]] = 1
    for q in face_down:
        unplayed = [card for card in range(CARDS) if hand[card]]
        commit[q] = unplayed[draw(words(3), 3 * index + q, len(unplayed))]
        hand[commit[q]] = 0
    return other


def test_few_bytes() -> None:
    assert te.make("tensor_stars").state_bytes == 32
    assert te.make("tensor_stars", random_colours=True, board=LARGE_BOARD).state_bytes <= 128

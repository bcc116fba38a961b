"""Every game passes the conformance test with other values of its rule fields, too."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.tensor_equilibrium.data import CHOICES as EQUILIBRIUM
from tensor_envs.games.tensor_stars.data import CHOICES as STARS

STRAIGHT = ((1, 0),), ((0, 1),), ((0, -1),), ((1, 1),), ((1, -1),), ((-1, 0),)
BOARD = {"starts": ((3, 0), (3, 2), (3, 4))}
DECK = [*({"number": n, "parts": (f"{side}1",), "either": False} for n, side in enumerate("TLRATLRATL"))]
# rule fields by id; a game's configurations together give every field another value than its default
OTHERS: dict[str, list[dict[str, Any]]] = {
    "amazons": [{"size": 6}, {"size": 8}],
    "animal_shogi": [{"window": 3}],
    "backgammon": [{"gammons": False, "max_plies": 50}],
    "barrage_stratego": [
        {"bombs": 0, "spies": 0, "scouts": 0, "generals": 0, "marshals": 0, "quiet_plies": 1},
        {"bombs": 3, "spies": 3, "scouts": 3, "miners": 3, "generals": 3, "marshals": 3, "quiet_plies": 255},
        {"miners": 0, "two_squares": False},
    ],
    "breakthrough": [{"rows": 4, "columns": 3}, {"rows": 16, "columns": 16}],
    "checkers": [{"quiet_plies": 1}],
    "chinese_checkers": [{"max_turns": 1}, *({"players": n, "max_turns": 40} for n in (3, 4, 6))],
    "chess": [{"quiet_plies": 1}, {"side": 5}],
    "clobber": [{"rows": 1, "columns": 2}, {"rows": 16, "columns": 16}, {"rows": 4, "columns": 3}],
    "connect_four": [{"rows": 1, "columns": 5, "k": 2}, {"rows": 9, "columns": 8, "k": 5}],
    "dark_hex": [{"size": 2, "abrupt": True}, {"size": 5}],
    "dots_and_boxes": [{"rows": 1, "columns": 2}, {"rows": 4, "columns": 7}],
    "gardner_chess": [{"quiet_plies": 9}],
    "gin_rummy": [{"knock_card": 0, "gin_bonus": 0, "undercut_bonus": 1000}, {"oklahoma": True}],
    "go": [{"size": 3, "superko": 8, "komi": 2.5}, {"size": 2, "superko": 64, "max_plies": 20}, {"size": 19}],
    "gomoku": [{"misere": True, "gravity": True}],
    "hanabi": [
        {
            "players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 2, "life_tokens": 31,
            "keep_score": True,
        },
        {"players": 5}, {"colors": 2, "ranks": 1, "hand_size": 1, "information_tokens": 0, "life_tokens": 1},
    ],
    "havannah": [{"size": 2, "swap": True}, {"size": 5}],
    "hex": [{"size": 3, "swap": False}, {"size": 19}],
    "hyper_tic_tac_toe": [{"shape": (2, 3, 2, 3), "k": 2}, {"shape": (3, 4), "misere": True}, {"gravity": True}],
    "kalah": [{"houses": 1, "seeds": 3}, {"houses": 8, "seeds": 6}],
    "liars_dice": [{"players": 3, "dice": 2, "sides": 3}],
    "xiangqi": [{"quiet_plies": 1}, {"quiet_plies": 127}],
    "lines_of_action": [{"quiet_plies": 1}, {"quiet_plies": 400}],
    "minishogi": [{"window": 8}],
    "nine_mens_morris": [{"max_turns": 1}, {"max_turns": 1000}],
    "oware": [{"houses": 4, "seeds": 3, "quiet_plies": 7}],
    "phantom_tic_tac_toe": [{"abrupt": True}],
    "qubic": [{"misere": True, "gravity": True}],
    "quoridor": [{"size": 3, "walls": 1}, {"size": 6, "walls": 0}],
    "shed": [{"cards": 2, "max_plies": 7}, {"cards": 32}],
    "shogi": [{"files": 3, "window": 1}, {"files": 5, "window": 513}],
    "tensor_equilibrium": [
        {
            "players": 3, "board_radius": 2, "dark_cells": (0,), "centre_cell": 8, "fixed_cards": (0, 1, 2),
            "tensor_cards": (((0, 1), (2, 3)), ((0, 1), (2, 4)), ((0, 1), (3, 4))), "tiles_per_type": 12,
            "tiles_per_type_per_player": 4, "market_size": 4, "op_cost": (1, 2, 3, 4), "op_tweaks": (1, 1, 2, 2),
            "op_copies": (2, 1, 2, 1), "tiebreak_order": (4, 3, 2, 1, 0), "max_rounds": 6, "max_decisions": 90,
        },
        {
            "board_radius": 1, "level_min": 1, "level_max": 8, "level_start": 2, "tier_level": (1, 4),
            "tier_hand": (1, 2), "tier_storage": (3, 4), "tier_income": (1, 2), "gpu_max": 12, "gpu_start": 5,
            "gpu_start_first": 4, "pass_reward": (3, 2, 1, 1), "first_player": 1, "cost_download": 1, "cost_load": 1,
            "cost_hack": 0, "cost_run": 0, "load_tweaks": 0, "hack_gpu_gain": 1, "min_board_tiles": 2, "max_rounds": 6,
            "setup_order": "seat", "reward_mode": "rank",
        },
        {
            "players": 4, "tweak_optional": False, "hack_bonus": False, "hack_passed_players": False,
            "download_needs_space": False, "op_needs_effect": False, "face_down_counts_for_adjacency": False,
            "mult_can_copy_face_down": False, "mult_copies_face_up": False, "add_may_reuse_cell": False,
            "require_connected": True, "flip_when_capped": False, "final_includes_passed": False,
            "final_pass_reward": True, "score_truncated": False, "observe_pile_counts": True, "max_rounds": 4,
        },
    ],
    "tensor_stars": [
        {"board": BOARD, "deck": DECK, "star_rule": "own", "star_credit": "side", "ask_order": "always",
         "score_stops_piece": False},
        {"star_rule": "opposite", "win_check": "piece", "reset_at_once": True, "reset": "all", "max_hands": 9},
        {"points_to_win": 2, "random_colours": True, "reset": "all", "max_hands": 12},
    ],
    "texas_holdem": [
        {
            "stacks": (20, 35), "small_blind": 2, "big_blind": 4, "raises": (75,), "max_raises": (2, 3),
            "streets": (0, 3), "hole_cards": 1, "ranks": 5, "suits": 3,
        },
        {"limit": (2, 2, 4, 4), "max_raises": (3, 4, 4, 4)},
    ],
    "three_will": [
        {
            "chart": STRAIGHT, "first_player": 1, "fail_ends_turn": False, "loan": False, "cards_each": 2,
            "cards_total": 9, "leap_diagonals": False, "held_under_locked": "held", "supplementary": False,
            "challenge": False, "challenge_ends_turn": False, "ids_visible": True, "max_turns": 40, "to_win": 1,
        },
    ],
    "tic_tac_toe": [{"misere": True}, {"gravity": True}],
    "y": [{"size": size} for size in (1, 2, 8)],
    "yahtzee": [{"players": 3}],
}  # fmt: skip
ONE_VALUE = {("tensor_equilibrium", "storage_over_limit")}
QUICK = ("tic_tac_toe",)


@pytest.mark.parametrize("name", te.registered())
def test_every_rule_field_has_another_value_below(name: str) -> None:
    env = te.make(name)
    rules, fixed = env.rules, env.entry.presets.get(name, {})
    configs = [te.make(name, **config).rules for config in OTHERS.get(name, [])]
    choices = {"tensor_equilibrium": EQUILIBRIUM, "tensor_stars": STARS}.get(name, {})
    for field in fields(rules):
        if field.name in fixed:
            continue
        values = {getattr(each, field.name) for each in (rules, *configs)}
        assert len(values) > 1 or (name, field.name) in ONE_VALUE, field.name
        assert values >= {*choices.get(field.name, ())}, field.name


@pytest.mark.parametrize(
    ("name", "config"),
    [
        pytest.param(name, config, marks=() if name in QUICK and config is configs[0] else pytest.mark.slow)
        for name, configs in OTHERS.items()
        for config in configs
    ],
)
def test_other_rule_fields_pass(name: str, config: dict[str, Any]) -> None:
    te.testing.check_env(te.make(name, **config), steps=12)

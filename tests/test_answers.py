"""A corpus of answers as people and language models write them, with the moves that they mean."""

from __future__ import annotations

import json
import time

import pytest

import tensor_envs as te
from tests.games.shared import shared_env

REFUSED = ""
CHESS: list[tuple[str, str, str]] = [  # moves so far, answer, move
    ("", "1.e4", "e2e4"), ("", "1. e4", "e2e4"), ("", "move: 1.Nf3", "g1f3"), ("", "**1.e4**", "e2e4"),
    ("", "Answer: 1.e2e4", "e2e4"), ("", "Knight to c3", "b1c3"), ("", "♘f3", "g1f3"), ("", "N to f3", "g1f3"),
    ("", "knight f3", "g1f3"), ("", "Knight from g1 to f3", "g1f3"), ("", "knight g1-f3", "g1f3"),
    ("", "pawn to e4", "e2e4"), ("", "move: pawn e4", "e2e4"), ("", "♙e4", "e2e4"), ("", "Springer f3", "g1f3"),
    ("", "Cavalier c3", "b1c3"), ("", "The best move is not e4.\nI play d4", "d2d4"),
    ("", "move: d4 (a quieter move is Nf3)", "d2d4"), ("", "move: not e4", REFUSED), ("", "I resign", REFUSED),
    ("", '{"move": "Nf3"}', "g1f3"), ("", '```json\n{"move": "e4", "why": "the centre"}\n```', "e2e4"),
    ("", "\\boxed{e4}", "e2e4"), ("", "Instead of e4 I play d4", "d2d4"), ("", "I avoid e4.\nd4", "d2d4"),
    ("", "e2‑e4", "e2e4"), ("", "e2–e4", "e2e4"), ("", "e2 → e4", "e2e4"), ("", "e2 to e4", "e2e4"),
    ("", "Nf3 is nice.\nmove: I do not know", REFUSED), ("", "Queen f3", REFUSED), ("", "Bishop c4", REFUSED),
    ("", "Don't play e4.\nMove: c4", "c2c4"), ("", "Rather than e4, d4", "d2d4"), ("", "1... e5", REFUSED),
    ("", "I considered e4 and d4.\n\nAnswer: **c4**", "c2c4"), ("", "e4 or d4", REFUSED), ("", "E4", "e2e4"),
    ("", "move = e4", "e2e4"), ("", "My move is e4.", "e2e4"), ("", "```\ne4\n```", "e2e4"), ("", "e4!", "e2e4"),
    ("e4 e5", "Bishop c4", "f1c4"), ("e4 e5", "Queen f3", "d1f3"), ("e4 e5", "queen to h5", "d1h5"),
    ("e4 e5", "♗c4", "f1c4"), ("e4 e5", "2.Bc4", "f1c4"), ("e4 e5", "move: 2. Qh5!?", "d1h5"),
    ("e4 e5", "king to e2", "e1e2"), ("e4 e5", "dame h5", "d1h5"), ("e4", "1...e5", "e7e5"), ("e4", "1… e5", "e7e5"),
    ("e4 d5", "exd5", "e4d5"), ("e4 d5", "ed5", "e4d5"), ("e4 d5", "e4×d5", "e4d5"), ("e4 d5", "e4xd5", "e4d5"),
    ("e4 d5 ed5", "queen takes d5", "d8d5"), ("e4 d5 ed5", "Queen takes pawn on d5", "d8d5"),
    ("e4 d5 ed5", "Q×d5", "d8d5"), ("e4 d5 ed5", "Qd5", "d8d5"), ("e4 d5 ed5", "♛xd5", "d8d5"),
    ("e4 e5 Nf3 d6", "N×e5", "f3e5"), ("e4 e5 Nf3 d6", "Nf3×e5", "f3e5"), ("e4 e5 Nf3 d6", "Nfxe5", "f3e5"),
    ("e4 e5 Nf3 d6", "knight takes the pawn on e5", "f3e5"), ("e4 e5 Nf3 d6", "knight captures e5", "f3e5"),
    ("e4 e5 Nf3 Nc6 Bc4 Bc5", "4.O-O", "e1g1"), ("e4 e5 Nf3 Nc6 Bc4 Bc5", "e1‑g1", "e1g1"),
    ("e4 e5 Nf3 Nc6 Bc4 Bc5", "castle kingside", "e1g1"), ("e4 e5 Nf3 Nc6 Bc4 Bc5", "Castles short.", "e1g1"),
    ("e4 e5 Nf3 Nc6 Bc4 Bc5", "kingside castling", "e1g1"), ("e4 e5 Nf3 Nc6 Bc4 Bc5", "castle queenside", REFUSED),
    ("e4 e5 Nf3 Nc6 Bc4 Bc5", "0–0", "e1g1"), ("e4 e5 Nf3 Nc6 Bc4 Bc5", "O—O", "e1g1"),
    ("Nf3 d5 d3 d4", "Nd2", REFUSED), ("Nf3 d5 d3 d4", "Nbd2", "b1d2"), ("Nf3 d5 d3 d4", "knight b1 to d2", "b1d2"),
    ("Nf3 d5 d3 d4", "Knight to d2", REFUSED), ("Nf3 d5 d3 d4", "N f to d2", REFUSED), ("Nf3 d5", "Ng5", "f3g5"),
    ("", "I'll open with e4.", "e2e4"), ("", "I'll start with the Sicilian... no, I am White. Move: e4", "e2e4"),
    ("", "<answer>Nf3</answer>", "g1f3"), ("", "<move>e4</move>", "e2e4"), ("", "Final answer: d4", "d2d4"),
    ("", "**Move:** Nf3", "g1f3"), ("", "move: `Nc3`", "b1c3"), ("", "Move: e2e4 (king's pawn)", "e2e4"),
    ("", "move: e4\n", "e2e4"), ("", "move: e4 e5", "e2e4"), ("", "e4, since it controls d5", "e2e4"),
    ("", "My move: **e2-e4**!", "e2e4"), ("", "{'action': 'g1f3'}", "g1f3"), ("", "[e4]", "e2e4"), ("", '"e4"', "e2e4"),
    ("", "'Nf3'", "g1f3"), ("", "(e4)", "e2e4"), ("", "$e4$", "e2e4"), ("", "e5", REFUSED), ("", "Ke2", REFUSED),
    ("", "Nf6", REFUSED), ("", "O-O", REFUSED), ("", "", REFUSED), ("", "hello", REFUSED), ("", "move:", REFUSED),
    ("", "a3 a4", REFUSED), ("", "Ng1-f3", "g1f3"), ("", "N g1 f3", "g1f3"), ("", "Sf3", REFUSED), ("", "Cf3", REFUSED),
    ("", "ng1f3", "g1f3"), ("", "Pe4", "e2e4"), ("", "e2 e4", "e2e4"), ("", "e2: e4", "e2e4"),
    ("", "From e2 to e4", "e2e4"), ("", "I move the pawn from e2 to e4.", "e2e4"), ("", "pawn e2 to e4", "e2e4"),
    ("", "the knight on g1 goes to f3", "g1f3"), ("e4 c5", "Nf3, the open Sicilian", "g1f3"),
    ("e4 c5", "2.Nf3", "g1f3"), ("e4 c5", "2. Nf3 d6", "g1f3"), ("e4 c5", "c4", "c2c4"), ("e4 c5", "Bb5", "f1b5"),
    ("e4 c5", "bishop b5", "f1b5"), ("e4 c5", "bb5", "f1b5"), ("e4 e5 Nf3 Nc6", "Bb5 (Ruy Lopez)", "f1b5"),
    ("e4 e5 Nf3 Nc6", "3. Bb5", "f1b5"), ("e4 e5 Nf3 Nc6", "Läufer b5", "f1b5"), ("e4 e5 Nf3 Nc6", "fou b5", "f1b5"),
    ("e4 e5 Nf3 Nc6", "alfil b5", "f1b5"), ("e4 e5 Nf3 Nc6", "Nxe5", "f3e5"),
    ("e4 e5 Nf3 Nc6", "knight takes e5", "f3e5"), ("e4 e5 Nf3 Nc6", "N takes e5", "f3e5"),
    ("e4 e5 Nf3 Nc6", "Rook takes e5", REFUSED), ("e4 d5", "pawn takes pawn", REFUSED),
    ("e4 d5", "pawn takes d5", REFUSED), ("e4 d5", "e takes d5", "e4d5"), ("e4 d5", "e4 takes d5", "e4d5"),
    ("e4 d5", "exd5!", "e4d5"), ("e4 d5", "e:d5", "e4d5"), ("e4 d5", "cxd5", REFUSED), ("e4", "c5", "c7c5"),
    ("e4", "1... c5", "c7c5"), ("e4", "1. ... c5", "c7c5"), ("e4", "pawn to c5", "c7c5"),
    ("e4", "I reply c5, the Sicilian.", "c7c5"), ("e4", "e4", REFUSED), ("e4", "Nf6", "g8f6"),
    ("e4", "knight to f6", "g8f6"),
    # a knight's square is no bishop's rank, and the other way round
    ("b3 e5", "b1-a3", "b1a3"), ("b3 e5", "b1-A3", REFUSED), ("b3 e5", "B1-a3", "c1a3"), ("b3 e5", "b1 to a3", "b1a3"),
    # thoughts are no answer, whether their element has both ends or one
    ("", "<think>Maybe move: e4? No.</think>\nNf3", "g1f3"), ("", "<think>Suppose I play e4", REFUSED),
    ("", "The prompt began my thoughts. Move: e4?\n</think>\n\nNf3", "g1f3"),
    ("", "<reasoning>e4 is usual</reasoning><move>Nf3</move>", "g1f3"),
    ("", "<move>Nf3</move>\n<explanation>It prepares e4.</explanation>", "g1f3"),
    ("", "<answer>\nNf3\n</answer>\nIt prepares e4", "g1f3"), ("", "<move>Nf3</move>\nIt prepares e4", "g1f3"),
    # marks in other spellings, and what is in the line below them
    ("", '{\n "best_move": "Nf3",\n "reason": "it prepares e4"\n}', "g1f3"),
    ("", '{\n "bestMove": "Nf3",\n "reason": "it prepares e4"\n}', "g1f3"),
    ("", "Move：Nf3\nIt prepares e4", "g1f3"), ("", "**Move:**\nNf3\n\n**Reason:** it prepares e4", "g1f3"),
    ("", "Move:\n```\nNf3\n```\nIt prepares e4", "g1f3"), ("", "Candidates for a move:\nI like e4\n\nd4", "d2d4"),
    # marks of the moves of others
    ("e4 e5", "Opponent's last move: e5\nI play d4", "d2d4"), ("e4 e5", '{"last_move": "e5"}\nd4', "d2d4"),
    ("e4 e5", "Black's previous move: e5. Their best move: Nf6.\nMove: d4", "d2d4"),
    # a last line that is a move alone
    ("", "The natural move is e4. But I prefer:\n\nc4", "c2c4"), ("", "A move: e4.\nA move: d4.\n\n**Nf3**", REFUSED),
    ("", "Move: e4\nThreats:\n- d5", "e2e4"), ("", "Move: e4\n\ne4", "e2e4"),
    # several moves behind a mark
    ("", "Answer: If I play e4, Black has e5. So d4 or c4", REFUSED),
    ("", "Answer: since e5 is far, I play d4", "d2d4"),
    ("", "move: e4/d4", REFUSED), ("", "move: e4 | d4", REFUSED), ("", "move: e4, d4 or c4", REFUSED),
    ("", "move: e4 or perhaps d4", REFUSED), ("", "move: e4, or d4", REFUSED), ("", "move: e4, then d4", "e2e4"),
    # denials
    ("", "I don’t play e4.", REFUSED), ("", "I cannot play e4", REFUSED), ("", "I do not want to play e4", REFUSED),
    ("", "I refuse to play e4", REFUSED), ("e4", "Against e4 I play e5", "e7e5"),
    ("", "No move: e4", REFUSED), ("", "I'm not sure: e4", REFUSED), ("", "e4, maybe d4", REFUSED),
    ("", "Maybe e4.", REFUSED), ("", "Perhaps I play d4. No, e4", REFUSED), ("", "maybe d4, but e4", REFUSED),
    ("", "I wouldn't recommend e4.", REFUSED), ("", "Neither e4 nor d4: c4", REFUSED), ("", "not e4 or d4", REFUSED),
    ("", "It's too early for e4", REFUSED), ("", "I'm not sure about e4", REFUSED),
    ("", "If I play e4, I lose", REFUSED),
    ("", "e4 is bad.", REFUSED), ("", "e4 would be a mistake", REFUSED), ("", "e4 isn't good", REFUSED),
    ("", "The position after e4 is unclear", REFUSED), ("", "e4 is worse than Nf3", "g1f3"),
    ("", "They may reply with e4", REFUSED), ("", "My opponent played e4", REFUSED), ("", "Wrong move: e4", REFUSED),
    ("", "Black threatens e4", REFUSED),
    # refusals
    ("", "I will not move. e4", REFUSED), ("", "I can't play. e4", REFUSED), ("", "I can't move e2 yet. d4", "d2d4"),
    ("", "I resign. e4 was my idea", REFUSED), ("", "e4 was my idea.\nI resign.", REFUSED),
    ("", "Sorry, I can't help with that; e4 is a square.", REFUSED), ("", "move: none (e4 is legal)", REFUSED),
    ("", '{"move": null, "considered": "e4"}', REFUSED), ("", '{"move": "", "note": "e4"}', REFUSED),
    ("", "<move>none</move> e4", REFUSED), ("", "move: resign, since e4 fails", REFUSED),
    # questions
    ("", "Should I play e4?", REFUSED), ("", "I play d4.\nWhat about e4?", "d2d4"), ("", "Nf3\nIs e4 better?", "g1f3"),
    ("", "e4?", "e2e4"), ("", "move: Nf3!?", "g1f3"),
    # several moves without a mark, and remarks on other moves
    ("", "1. e4\n2. d4\n3. Nf3", REFUSED), ("", "1) e4\n2) d4", REFUSED), ("", "- e4\n- d4", REFUSED),
    ("", "1) e4", "e2e4"),
    ("e4 e5", "1. e4 e5\n2. Nf3", "g1f3"), ("", "e4\n(d4 was also possible)", REFUSED),
    ("", "e4\n\nYour turn!", "e2e4"),
    ("", "I'll go with e4.\nIt prepares d4.", REFUSED), ("", "I choose e4.\nThen I can play Nf3.", REFUSED),
    ("", "I play d4 now.\nBlack may reply d5.", "d2d4"), ("", "Candidates: e4, d4. I choose Nf3", "g1f3"),
    ("", "The natural move is e4.\nI play d4", "d2d4"), ("", "I play e4 and d4", REFUSED),
    # corrections, and marks of moves that are not played
    ("", "Move: e4? No, d4.", REFUSED), ("", "move: e4 no wait d4", REFUSED),
    ("", "Move: e4\nWait, d4 is better", REFUSED),
    ("", "Move: e4\nActually, I prefer d4.", REFUSED), ("", "Move: e4\nAlternative move: d4", "e2e4"),
    ("", "Illegal move: e4\nd4", "d2d4"), ("", "I choose this move: e4\nIt prepares d4.", "e2e4"),
    # starts and targets
    ("", '{"move": {"from": "g1", "to": "f3"}}', "g1f3"), ("", '{\n"from": "g1",\n"to": "f3"\n}', "g1f3"),
    ("", "From: g1, to: f3", "g1f3"), ("", '["g1", "f3"]', "g1f3"), ("", "move: g1, f3", "g1f3"),
    ("", '{"source": "g1", "target": "f3"}', "g1f3"), ("", '{"from": "g1", "to": "f4"}', REFUSED),
]  # fmt: skip
OTHERS: list[tuple[str, str, str]] = [  # game, answer at its start, move
    ("othello", "1.d3", "d3"), ("othello", "move: 1. d3", "d3"), ("othello", "D3", "d3"), ("othello", "e3", REFUSED),
    ("go", "1.D4", "D4"), ("go", "d4", "D4"), ("go", "move: pass", "pass"), ("go", "not D4.\nE5", "E5"),
    ("go", "D4 is big, but my move: E5", "E5"), ("go", "I4", REFUSED), ("go", "D44", REFUSED),
    ("backgammon", "1.24/18", "24/18"), ("backgammon", "24/18", "24/18"), ("backgammon", "24–18", "24/18"),
    ("backgammon", "24 → 18", "24/18"), ("backgammon", "24 to 18", "24/18"), ("backgammon", "24/19", REFUSED),
    ("breakthrough", "1.a2a3", "a2a3"), ("breakthrough", "a2-a3", "a2a3"), ("breakthrough", "a2→a3", "a2a3"),
    ("breakthrough", "a2−a3", "a2a3"), ("breakthrough", "a2xb3", "a2b3"), ("breakthrough", "a2 – a4", REFUSED),
    ("quoridor", "horizontal wall e2", "e2h"), ("quoridor", "horizontal wall at e2", "e2h"),
    ("quoridor", "vertical wall at c1", "c1v"), ("quoridor", "wall at e2, horizontal", "e2h"),
    ("quoridor", "wall e2 vertically", "e2v"), ("quoridor", "e2 horizontal", "e2h"), ("quoridor", "e2h", "e2h"),
    ("quoridor", "place a wall at d1", REFUSED), ("quoridor", "wall: d1", REFUSED), ("quoridor", "e2", "e2"),
    ("quoridor", "fence on d1", REFUSED), ("quoridor", "I place a horizontal wall at e2.", "e2h"),
    ("quoridor", "pawn to e2", "e2"), ("quoridor", "move: d1", "d1"), ("quoridor", "E2H", "e2h"),
    ("yahtzee", "reroll 1, 4", "reroll 1 4"), ("yahtzee", "reroll 1 and 4", "reroll 1 4"),
    ("yahtzee", "reroll 1 4", "reroll 1 4"), ("yahtzee", "reroll 1, 2 and 4", "reroll 1 2 4"),
    ("yahtzee", "reroll 1", "reroll 1"), ("yahtzee", "reroll 4, 1", REFUSED), ("yahtzee", "reroll 1, 9", REFUSED),
    ("connect_four", "3", "3"), ("connect_four", "-3", REFUSED), ("connect_four", "−3", REFUSED),
    ("connect_four", "move: -3", REFUSED), ("connect_four", "column 3", "3"), ("connect_four", "3.", "3"),
    ("connect_four", "not 3.\nI play 4", "4"), ("connect_four", "move: 4 (3 is worse)", "4"),
    ("connect_four", "14", REFUSED), ("connect_four", "4.5", REFUSED), ("connect_four", '{"action": 4}', "4"),
    ("checkers", "9–14", "9-14"), ("checkers", "1. 9-14", "9-14"), ("checkers", "9x14", "9-14"),
    ("checkers", "9 to 14", "9-14"), ("checkers", "14-9", REFUSED), ("hex", "1.f6", "f6"), ("hex", "F6", "f6"),
    ("2048", "up", "up"), ("2048", "not up.\ndown", "down"), ("2048", "move: down, not right", "down"),
    ("kuhn_poker", "I bet", "bet"), ("kuhn_poker", "not bet.\npass", "pass"), ("dots_and_boxes", "a1→b1", "a1b1"),
    ("dots_and_boxes", "a1–b1", "a1b1"), ("lines_of_action", "1.b1-h1", "b1h1"), ("amazons", "a4", "a4"),
    ("liars_dice", "1.1-3", "1-3"), ("liars_dice", "1–3", "1-3"), ("three_will", "(none of them)", REFUSED),
    ("tic_tac_toe", "1.(1,1)", "(1,1)"), ("tic_tac_toe", "( 1 , 1 )", "(1,1)"),
    ("tic_tac_toe", "(1,1), not (0,0)", "(1,1)"),
    ("othello", "I play d3.", "d3"), ("othello", "move: (d3)", "d3"), ("othello", "d 3", REFUSED),
    ("othello", "**D3**", "d3"), ("othello", "3d", REFUSED), ("othello", "pass", REFUSED),
    ("othello", "d3 or c4", REFUSED), ("othello", "Not d3, but c4.", "c4"), ("othello", "My answer is f5", "f5"),
    ("go", "Pass", "pass"), ("go", "I pass.", "pass"), ("go", "move: tengen", REFUSED),
    ("go", "move: E5 (the centre)", "E5"), ("go", "B e5", "E5"), ("go", "e-5", REFUSED),
    ("go", "E5 and then C3", REFUSED), ("go", "never pass.\nmove: C3", "C3"), ("go", "K5", REFUSED), ("go", "J9", "J9"),
    ("go", "\\boxed{G7}", "G7"), ("backgammon", "13/7", "13/7"), ("backgammon", "13-7", "13/7"),
    ("backgammon", "13 / 8", "13/8"), ("backgammon", "move: 8/2.", "8/2"),
    ("backgammon", "13/7 is better than 8/2", REFUSED), ("backgammon", "bar/20", REFUSED),
    ("backgammon", "6/off", REFUSED), ("backgammon", "7/13", REFUSED), ("breakthrough", "b2-b3", "b2b3"),
    ("breakthrough", "B2B3", "b2b3"), ("breakthrough", "b2 to b3", "b2b3"), ("breakthrough", "b2 b3", "b2b3"),
    ("breakthrough", "b3", REFUSED), ("breakthrough", "from c2 to d3", "c2d3"),
    ("breakthrough", "I advance d2d3", "d2d3"), ("checkers", "11-15", "11-15"), ("checkers", "11 - 15", "11-15"),
    ("checkers", "11→15", "11-15"), ("checkers", "from 11 to 15", "11-15"), ("checkers", "11", REFUSED),
    ("checkers", "move: 12-16 or 11-16", REFUSED), ("checkers", "9-13.", "9-13"), ("connect_four", "4", "4"),
    ("connect_four", "Column 4", "4"), ("connect_four", "move: column 4", "4"),
    ("connect_four", "I drop a disc in column 4.", "4"), ("connect_four", "8", REFUSED), ("connect_four", "0", REFUSED),
    ("connect_four", "three", REFUSED), ("connect_four", "4 or 5", REFUSED), ("connect_four", '{"column": 4}', "4"),
    ("connect_four", "**4**", "4"), ("connect_four", "The best column is 4.", "4"), ("connect_four", "column: 4", "4"),
    ("dots_and_boxes", "a1-a2", "a1a2"), ("dots_and_boxes", "a1 to b1", "a1b1"), ("dots_and_boxes", "A1B1", "a1b1"),
    ("dots_and_boxes", "a1c1", REFUSED), ("gomoku", "(7,7)", "(7,7)"), ("gomoku", "7,7", "(7,7)"),
    ("gomoku", "move: (7, 7).", "(7,7)"), ("gomoku", "[7, 7]", "(7,7)"), ("gomoku", "(15,3)", REFUSED),
    ("gomoku", "(7;7)", REFUSED), ("gomoku", "(1,1) is worse. move: (7,8)", "(7,8)"), ("hex", "move: F6", "f6"),
    ("hex", "f 6", REFUSED), ("hex", "f12", REFUSED), ("hex", "l1", REFUSED), ("hex", "the centre", REFUSED),
    ("hex", "Not a1; f6", "f6"), ("hyper_tic_tac_toe", "(1,1,1)", "(1,1,1)"),
    ("hyper_tic_tac_toe", "(1, 1, 1)", "(1,1,1)"), ("hyper_tic_tac_toe", "move: (0,1,2)", "(0,1,2)"),
    ("hyper_tic_tac_toe", "(1,1)", REFUSED), ("hyper_tic_tac_toe", "(3,0,0)", REFUSED),
    ("hyper_tic_tac_toe", "1,1,1", "(1,1,1)"), ("kalah", "house 3", "3"), ("kalah", "I sow from 3.", "3"),
    ("kalah", "move: 7", REFUSED), ("kalah", "Pit 2", "2"), ("kalah", "1 then 2", REFUSED),
    ("kuhn_poker", "Bet", "bet"), ("kuhn_poker", "BET!", "bet"), ("kuhn_poker", "check", "pass"),
    ("kuhn_poker", "fold", REFUSED), ("kuhn_poker", "I call", REFUSED),
    ("kuhn_poker", "pass or bet", REFUSED), ("kuhn_poker", "I don't bet", REFUSED), ("leduc_poker", "call", "call"),
    ("leduc_poker", "I raise", "raise"), ("leduc_poker", "fold", REFUSED), ("leduc_poker", "**raise**", "raise"),
    ("liars_dice", "2-5", "2-5"), ("liars_dice", "move: 2-5", "2-5"), ("liars_dice", "2 - 5", "2-5"),
    ("liars_dice", "3-1", REFUSED), ("liars_dice", "liar", REFUSED), ("lines_of_action", "b1-h1", "b1h1"),
    ("lines_of_action", "b1 to b3", "b1b3"), ("lines_of_action", "b1", REFUSED), ("lines_of_action", "b1xb3", "b1b3"),
    ("nine_mens_morris", "d6", "d6"), ("nine_mens_morris", "I place at d6.", "d6"), ("nine_mens_morris", "d4", REFUSED),
    ("nine_mens_morris", "D6", "d6"), ("oware", "A", "A"), ("oware", "house C", "C"), ("oware", "move: f", "F"),
    ("oware", "G", REFUSED), ("oware", "a", "A"), ("phantom_tic_tac_toe", "b2", "b2"),
    ("phantom_tic_tac_toe", "I try b2", "b2"), ("phantom_tic_tac_toe", "d4", REFUSED), ("dark_hex", "move: b2", "b2"),
    ("dark_hex", "b 2", REFUSED), ("qubic", "(1,2,3)", "(1,2,3)"), ("qubic", "(4,0,0)", REFUSED),
    ("qubic", "1,2,3", "(1,2,3)"), ("quoridor", "I move to e2", "e2"), ("quoridor", "vertical fence at d5", "d5v"),
    ("quoridor", "wall d5", REFUSED), ("quoridor", "d5v", "d5v"), ("shed", "move: 7", "7"),
    ("shed", "I play the 7", "7"), ("shed", "11", REFUSED), ("shed", "10", "10"),
    ("tensor_equilibrium", "TYPE(A)", "TYPE(A)"), ("tensor_equilibrium", "type(a)", "TYPE(A)"),
    ("tensor_equilibrium", "TYPE(B)", REFUSED), ("tensor_equilibrium", "move: TYPE (D)", "TYPE(D)"),
    ("tensor_stars", "PLACE(3)", "PLACE(3)"), ("tensor_stars", "place(3)", "PLACE(3)"),
    ("tensor_stars", "PLACE(12)", REFUSED), ("tensor_stars", "I choose PLACE(0).", "PLACE(0)"),
    ("three_will", "1a", "1a"), ("three_will", "move: 7A", "7a"), ("three_will", "8a", REFUSED),
    ("three_will", "1", REFUSED), ("tic_tac_toe", "(2,2)", "(2,2)"), ("tic_tac_toe", "2,2", "(2,2)"),
    ("tic_tac_toe", "row 2, column 1", "(2,1)"), ("tic_tac_toe", "(3,3)", REFUSED), ("tic_tac_toe", "centre", REFUSED),
    ("tic_tac_toe", '{"move": "(0,2)"}', "(0,2)"), ("tic_tac_toe", '{"move": [0, 2]}', "(0,2)"),
    ("ultimate_tic_tac_toe", "e5", "e5"), ("ultimate_tic_tac_toe", "move: E5", "e5"),
    ("ultimate_tic_tac_toe", "j1", REFUSED), ("yahtzee", "reroll 1 2 3", "reroll 1 2 3"),
    ("yahtzee", "Reroll 2", "reroll 2"), ("yahtzee", "reroll dice 1 and 2", "reroll 1 2"),
    ("yahtzee", "I reroll 3, 4", "reroll 3 4"), ("amazons", "move: J4", "j4"), ("amazons", "a5", REFUSED),
    ("2048", "Up", "up"), ("2048", "left", REFUSED), ("2048", "swipe right", "right"),
    ("2048", "move: up or down", REFUSED), ("texas_holdem", "I call.", "call"), ("texas_holdem", "fold", "fold"),
    ("texas_holdem", "raise 50%", "raise 50%"), ("texas_holdem", "I raise 100%", "raise 100%"),
    ("texas_holdem", "All-in!", "all-in"), ("texas_holdem", "raise 75%", REFUSED),
    ("texas_holdem", "raise to 4", "raise 50%"), ("texas_holdem", "raise to 6", "raise 100%"),
    ("texas_holdem", "raise to 5", REFUSED), ("texas_holdem", "call 1", "call"),
    ("hanabi", "move: play 0 or 1", REFUSED), ("hanabi", "play card 0", "Play 0"),
    ("gin_rummy", "I draw upcard.", "Draw upcard"), ("gin_rummy", "move: pass", "Pass"), ("gin_rummy", "As", REFUSED),
    ("barrage_stratego", "a1", "a1"), ("barrage_stratego", "move: D4.", "d4"), ("barrage_stratego", "e5", REFUSED),
    ("barrage_stratego", "I place the flag on c2.", "c2"), ("barrage_stratego", "a1 or b1", REFUSED),
    ("barrage_stratego", "a1a2", REFUSED),
    ("gin_rummy", "draw stock", REFUSED), ("gin_rummy", "pass or draw upcard", REFUSED),
    ("texas_holdem", "call or fold", REFUSED), ("hanabi", "play 0", "Play 0"), ("hanabi", "I play 4.", "Play 4"),
    ("hanabi", "discard 0", REFUSED), ("hanabi", "play 5", REFUSED), ("hanabi", "play 0 or play 1", REFUSED),
    ("hanabi", "reveal player +1 color r", "Reveal player +1 color R"), ("hanabi", "hint red", REFUSED),
    ("hanabi", "move: Reveal player +1 rank 2.", "Reveal player +1 rank 2"),
    ("hanabi", "reveal player +1 rank 5", REFUSED), ("clobber", "a1a2", "a1a2"), ("clobber", "A1B1", "a1b1"),
    ("clobber", "a1-a2", "a1a2"), ("clobber", "a1xb1", "a1b1"), ("clobber", "c3 to c4", "c3c4"),
    ("clobber", "move: e5 x f5.", "e5f5"), ("clobber", "I clobber d4xd3", "d4d3"), ("clobber", "1.a3a2", "a3a2"),
    ("clobber", "a2xa1", REFUSED), ("clobber", "a1xb2", REFUSED), ("clobber", "a1", REFUSED),
    ("clobber", "a1a2 or a1b1", REFUSED), ("clobber", "from b2 to b1", "b2b1"),
    ("chinese_checkers", "d1 down-right", "d1 down-right"), ("chinese_checkers", "move: D4 Down Left.", "d4 down-left"),
    ("chinese_checkers", "c1 down and to the left", "c1 down-left"), ("chinese_checkers", "c1", REFUSED),
    ("chinese_checkers", "d1 up-left", REFUSED), ("chinese_checkers", "end turn", REFUSED),
    ("chinese_checkers", "d1 down-right or d1 down-left", REFUSED), ("chinese_checkers", "down-right", REFUSED),
    ("y", "F6", "f6"), ("y", "move: a19.", "a19"), ("y", "b19", REFUSED), ("y", "f 6", REFUSED), ("y", "t1", REFUSED),
    ("gardner_chess", "Nc3", "b1c3"), ("gardner_chess", "move: a2-a3.", "a2a3"), ("gardner_chess", "a4", REFUSED),
    ("gardner_chess", "O-O", REFUSED), ("havannah", "H8", "h8"), ("havannah", "move: a1.", "a1"),
    ("havannah", "i1", REFUSED), ("shogi", "7g7f", "7g7f"), ("shogi", "move: 2G2F.", "2g2f"),
    ("shogi", "7f", REFUSED), ("shogi", "P-2f", "2g2f"), ("shogi", "G4i-5h", "4i5h"), ("shogi", "G-5h", REFUSED),
    ("shogi", "7g7e", REFUSED), ("minishogi", "5d5c", "5d5c"), ("minishogi", "P*3c", REFUSED),
    ("animal_shogi", "2c2b", "2c2b"), ("animal_shogi", "I capture: 2c-2b", "2c2b"), ("animal_shogi", "2c2a", REFUSED),
    ("xiangqi", "h2e2", "h2e2"), ("xiangqi", "H2-E2", "h2e2"),
    ("xiangqi", "move: h2xh9.", "h2h9"), ("xiangqi", "h2 takes h9", "h2h9"), ("xiangqi", "1. h0 to g2", "h0g2"),
    ("xiangqi", "h7e7", REFUSED), ("xiangqi", "e2", REFUSED),
    ("kuhn_poker", "I do not want to bet", REFUSED), ("kuhn_poker", "I can’t bet", REFUSED),
    ("kuhn_poker", "No bet", REFUSED), ("connect_four", "Opponent's last move: 4\nI play 3", "3"),
    ("connect_four", "3/4", REFUSED), ("tic_tac_toe", "（1，1）", "(1,1)"),
    ("tic_tac_toe", "<move>1,2</move>", "(1,2)"),
    ("oware", "the largest house, i.e. C", "C"), ("amazons", "d1-g4/g1", REFUSED), ("amazons", "d1-g4(g1)", REFUSED),
    # full stops behind numbers that are names, or parts of names
    ("connect_four", "I play column 3. It blocks column 5.", "3"), ("connect_four", "3. It blocks 5", REFUSED),
    ("connect_four", "I choose 3.\nGood luck", "3"), ("kalah", "I sow 2. It captures", "2"),
    ("hanabi", "Play 4. Then discard 2", "Play 4"), ("yahtzee", "reroll 1 4. I keep the rest", "reroll 1 4"),
    ("yahtzee", "reroll 1 or 2", REFUSED), ("connect_four", "I have 2 options", REFUSED),
    ("connect_four", "There are 7 columns", REFUSED),
    # words and numbers that are no moves
    ("connect_four", "move: 4 in a row with column 3", "3"), ("connect_four", "I block 3-in-a-row", REFUSED),
    ("connect_four", "2 threats: column 5", "5"), ("kalah", "move: sow 4 seeds from house 2", "2"),
    ("kalah", "I sow the 4 seeds there", REFUSED), ("oware", "move: a capture from C", "C"),
    ("oware", "I play a quiet move", REFUSED), ("2048", "I give up.", REFUSED), ("2048", "All right.", REFUSED),
    ("2048", "This sets up a merge in the bottom left corner: up", "up"), ("2048", "Right!", "right"),
    ("shed", "I have 3 cards", REFUSED), ("yahtzee", "move: take a chance and reroll 1 2", "reroll 1 2"),
    ("texas_holdem", "raise to 4% of the pot", REFUSED),
    # names in other words
    ("texas_holdem", "raise half the pot", "raise 50%"), ("texas_holdem", "move: raise half pot", "raise 50%"),
    ("texas_holdem", "I raise the pot", "raise 100%"), ("yahtzee", "re-roll 1 2", "reroll 1 2"),
    ("yahtzee", "reroll the dice 1, 4", "reroll 1 4"),
    ("hanabi", "hint player +1 colour red", "Reveal player +1 color R"),
    ("hanabi", "Reveal player +1 color Blue", REFUSED), ("quoridor", "H e2", "e2h"), ("quoridor", "ve2", "e2v"),
    ("dots_and_boxes", "b1-a1", "a1b1"), ("dots_and_boxes", "from b1 to a1", "a1b1"),
    ("dots_and_boxes", "c1a1", REFUSED),
    ("tic_tac_toe", "row 0, column 2", "(0,2)"), ("tic_tac_toe", '{"row": 1, "col": 2}', "(1,2)"),
    ("tic_tac_toe", "row 0 and column 1", "(0,1)"), ("tic_tac_toe", "row 3, column 1", REFUSED),
    ("gomoku", "move: row 7, column 8", "(7,8)"), ("hyper_tic_tac_toe", "row 0, column 1", REFUSED),
    ("backgammon", "13/8/5", "13/8"), ("checkers", '{"from": 11, "to": 15}', "11-15"),
]  # fmt: skip
SHAPES = [  # of an answer around a name
    "{}", "{}.", "move: {}", "Move: **{}**", "MOVE: `{}`", "Answer: {}", "My move is {}.", "I have thought.\n{}",
    '{{"move": "{}"}}', "\\boxed{{{}}}", "```\n{}\n```", "action = {}", "1.{}", "12. {}", "move: 3.{}",
    "The other moves lose.\n\nMove: {}\nIt is strong.",
]  # fmt: skip


def read(env: te.Env, state: te.State, answer: str) -> str:
    """Return the name of the move that an answer is read as, "" if it is refused."""
    try:
        return env.legal_actions(state)[te.text.parse(env, answer, state)]
    except ValueError:
        return REFUSED


def test_the_corpus_is_of_all_games() -> None:
    assert len({*CHESS}) + len({*OTHERS}) == len(CHESS) + len(OTHERS) >= 300
    assert {game for game, *_ in OTHERS} | {"chess"} == {*te.registered()}


def test_answers_in_chess() -> None:
    env = shared_env("chess")
    states: dict[str, te.State] = {}
    for played, answer, move in CHESS:
        if played not in states:
            states[played] = te.replay(te.record(env, played.split()))
        assert read(env, states[played], answer) == move, (played, answer)


@pytest.mark.few(8)
@pytest.mark.parametrize("name", sorted({name for name, *_ in OTHERS}))
def test_answers_in_other_games(name: str) -> None:
    env = shared_env(name)
    state = env.init(1, 4 if name != "backgammon" else 0)
    for _, answer, move in (case for case in OTHERS if case[0] == name):
        assert read(env, state, answer) == move, answer


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", te.registered())
def test_every_legal_name_is_read_as_its_move_or_refused(name: str) -> None:
    """In many positions and shapes of answers no name is read as another move, and plain ones are understood."""
    env = shared_env(name)
    state, answers = env.init(4, seed=7), 0
    for ply in range(25):
        for row in range(4):
            legal = env.legal_actions(state, row)
            for k, (action, called) in enumerate(legal.items()):
                if len(legal) > 5 and (k + ply) % 5:
                    continue
                shape = SHAPES[(k + ply + row) % len(SHAPES)]
                variants = {called, called.replace("-", "–"), called.replace("x", "×"), called.upper(), called.lower()}
                for variant in variants if len({text.lower() for text in legal.values()}) == len(legal) else {called}:
                    answers += 1
                    try:
                        assert te.text.parse(env, shape.format(variant), state, row) == action, (shape, variant)
                    except ValueError:
                        assert shape[:3] in ("1.{", "12.", "mov") or variant != called, (shape, variant)
        state = env.step(state, te.agents.uniform(state))
    assert answers > 20


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", te.registered())
def test_a_prompt_repeated_is_no_answer(name: str) -> None:
    """The example of a prompt is no move of the player."""
    env = shared_env(name)
    state = env.init(1, 3)
    assert len(env.legal_actions(state)) > 1
    text = te.text.prompt(state)
    for answer in (text, json.dumps(text), f"I was asked: {text.splitlines()[-1]}"):
        assert read(env, state, answer) == REFUSED
    called = next(iter(env.legal_actions(state).values()))
    assert read(env, state, f"{text}\nmove: {called}") == called


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["chess", "go", "tic_tac_toe", "quoridor"])
def test_long_answers_take_little_time(name: str) -> None:
    env = shared_env(name)
    state = env.init(1)
    called = next(iter(env.legal_actions(state).values()))
    te.text.parse(env, called, state)
    for filler in ("e ", "move: ", "knight on ", "(0,", "a1 wall ", "1.", "not ", "N", " ", "**"):
        begin = time.process_time()
        for answer in (filler * (200_000 // len(filler)), filler * (200_000 // len(filler)) + f"\nmove: {called}"):
            read(env, state, answer)
        assert time.process_time() - begin < 4, filler
    assert read(env, state, "x " * 10**6 + f"\nmove: {called}") == called

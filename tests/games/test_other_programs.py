"""Files as other programs and players write them: PGN with python-chess as a judge, SGF with sgfmill."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.files.records import load_games

chess = pytest.importorskip("chess")
pgn = pytest.importorskip("chess.pgn")
sgf = pytest.importorskip("sgfmill.sgf")

ROYAL = '[FEN "4k3/P6p/8/8/8/8/p6P/4K3 w - - 0 1"]\n[SetUp "1"]\n'
# texts that python-chess reads, too
PGN = [
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 *",
    "1.e4 e5 2.Nf3 Nc6 3.Bb5 *",
    "1 e4 e5 2 Nf3 *",
    "1. e4 1... e5 2. Nf3 2... Nc6 *",
    "e4 e5 Nf3 Nc6",
    "1. e4 Nf6 2. d3 Nc6 3. Ngf3 N6g4 *",
    "1. d4 d5 2. Nf3 Nf6 3. N1d2 N8d7 *",
    "1. Ng1f3 Ng8-f6 2. e2e4 Nf6xe4 *",
    "1. e4 d5 2. ed5 Qd5 3. Nc3 Qa5 *",
    "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5 *",
    "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. 0-0 Nf6 *",
    "1. d4 d5 2. Nc3 Nc6 3. Bf4 Bf5 4. Qd2 Qd7 5. 0-0-0 O-O-O *",
    f"{ROYAL}\n1. a8Q+ Kd7 *",
    f"{ROYAL}\n1. a8=N a1=R+ *",
    '[FEN "4k3/8/8/8/8/8/8/4K2R b - - 0 1"]\n\n1. ... Kd7 2. Rh7+ *',
    '[FEN "4k3/8/8/8/8/8/8/4K2R b - - 0 1"]\n\n1... Kd7 *',
    '[FEN "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"]\n\n1. e4 *',
    "1. e4 {a [%clk 0:01] (comment) 1. d4} e5 $1 2. Nf3 $14 *",
    "1. e4 (1. d4 d5 (1... Nf6 2. c4)) 1... e5 (1... c5) 2. Nf3 *",
    "1. e4 ; a comment 1. d4 (\n1... e5 *",
    "1. e4! e5? 2. Nf3!! Nc6?? 3. Bb5!? a6?! *",
    "1. f3 e5 2. g4 Qh4# 0-1",
    '[Event "A"]\n[White "Me"]\n\n1. e4 e5 1-0\n\n[Event "B"]\n\n1. d4 *',
    '[Event "A"]\r\n[White "Me"]\r\n\r\n1. e4 e5\r\n2. Nf3 1-0\r\n',
    "% an escaped line\n[Event \"A\"]\n% another 1. d4\n\n1. e4 e5 1/2-1/2",
    '\ufeff[Event "A"]\n\n1. e4 *',
    '[Event "says \\"hi\\" \\\\"]\n\n1. e4 *',
]  # fmt: skip
# texts that it reads otherwise or not at all, and the moves that they mean
PGN_BY_HAND = [
    ("1. e4 d5 2. e5 f5 3. exf6 e.p. Nxf6 *", "e2e4 d7d5 e4e5 f7f5 e5f6 g8f6"),
    ("1. e4 d5 2. e5 f5 3. exf6e.p. *", "e2e4 d7d5 e4e5 f7f5 e5f6"),
    ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. o-o *", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1"),
    ("1. e4 e5 +- 2. Nf3 = Nc6 ± 3. Bb5 -+ *", "e2e4 e7e5 g1f3 b8c6 f1b5"),
    ("1. ♘f3 ♞f6 2. ♙e4 ♞×e4 *", "g1f3 g8f6 e2e4 f6e4"),
    ("1. e2–e4 e7—e5 2. Ng1‑f3 *", "e2e4 e7e5 g1f3"),
    (f"{ROYAL}\n1. a8(Q)+ Kd7 2. h3 a1/R+ *", "a7a8q e8d7 h2h3 a2a1r"),
    (f"{ROYAL}\n1. a8q *", "a7a8q"),
    ('[Event "A"] [Site "B"][White "C"]\n\n1. e4 *', "e2e4"),
    ('[Event "A"]\r[White "Me"]\r\r1. e4 e5\r2. Nf3 1-0\r', "e2e4 e7e5 g1f3"),
    ('[FEN "4k3/8/8/8/8/8/8/4K2R w K -"]\n\n1. O-O *', "e1g1"),
    ('[Fen "4k3/8/8/8/8/8/8/4K2R w K -"]\n\n1. Kd1 *', "e1d1"),
    ("1. e4 e5 ½-½", "e2e4 e7e5"),
    ('; a comment [of somebody]\n[White "A"]\n1. e4 *', "e2e4"),
]


def load(data: str | bytes, folder: Path, ending: str = ".pgn") -> te.Record:
    path = folder / f"game{ending}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return te.load_game(path)


@pytest.mark.few(3)
@pytest.mark.parametrize("text", PGN)
def test_pgn_has_the_moves_that_python_chess_reads(text: str, tmp_path: Path) -> None:
    judged = pgn.read_game(io.StringIO(text.lstrip("\ufeff").replace("\r\n", "\n")))
    assert judged is not None and not judged.errors
    moves = [move.uci() for move in judged.mainline_moves()]
    game = load(text, tmp_path)
    assert [*game.names] == moves and moves
    te.save_game(game, tmp_path / "again.pgn")
    again = pgn.read_game(io.StringIO((tmp_path / "again.pgn").read_text()))
    assert not again.errors and [move.uci() for move in again.mainline_moves()] == moves
    for tag in ("White", "Event", "Result"):
        assert again.headers[tag] == judged.headers[tag] or tag == "Result"


@pytest.mark.few(3)
@pytest.mark.parametrize(("text", "moves"), PGN_BY_HAND)
def test_pgn_has_the_moves_that_players_mean(text: str, moves: str, tmp_path: Path) -> None:
    assert [*load(text, tmp_path).names] == moves.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[Variant "Atomic"]\n\n1. Nf3 *', "its variant is 'Atomic', and only chess can be read"),
        ('[Variant "Three-check"]\n\n1. Nf3 *', "its variant is 'Three-check'"),
        ('[Variant "King of the Hill"]\n\n1. Nf3 *', "its variant is 'King of the Hill'"),
        ('[VARIANT "Atomic"]\n\n1. Nf3 *', "its variant is 'Atomic'"),
        ('[Variant "Chess960"]\n\n1. Nf3 *', "its variant is 'Chess960'"),
        ('[White "A"]\n\n1. e4 e5', "it breaks off: a result, one of"),
        ('[White "A"]\n\n', "it breaks off: a result"),
        ('[White "A"]\n\n1. e4 e5\n\n[White "B"]\n\n1. d4 *', "it breaks off: a result"),
        ("1. e4 {no end", "a comment has no end"),
        ("1. e4 e5 2. -- d5 *", "move 3, --: it is a null move, which chess does not have"),
        ("1. e4 Z0 *", "move 2, Z0: it is a null move"),
        ("1. Nf3 e5 2. Nd4 d5 3. Nb5 d4 4. N1c3 Nf6 5. Nd5 a6 6. Nc3 *", "move 11, Nc3: .*no legal action"),
        ("1. f3 e5 2. g4 Qh4# 3. e4 *", "move 5, e4: actions must end with the game"),
        ("1. e4 e5 ) 2. Nf3 (2... Nc6 3. d4) *", "a variation has no beginning"),
        ("1. e4 [x] e5 *", r"move 2, \[x\]: action 1: no legal action"),
        ('[Event "The "Open""]\n\n1. e4 *', r"move 1, \[Event: action 0: no legal action"),
    ],
)
def test_pgn_that_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load(text, tmp_path)


def test_standard_variants_are_chess(tmp_path: Path) -> None:
    for name in ("Standard", "From Position", ""):
        assert load(f'[Variant "{name}"]\n\n1. e4 *', tmp_path).names == ("e2e4",)


@pytest.mark.parametrize(
    ("text", "played", "rest"),
    [
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 Nf6 6. e4 *", 8, ["Nf3", "Nf6", "e4"]),
        ('[FEN "4k3/8/8/8/8/8/8/rK6 w - - 0 1"]\n\n1. Kxa1 Kd7 2. Kb2 *', 1, ["Kd7", "Kb2"]),
        ('[FEN "4k3/8/8/8/8/8/8/R3K3 w - - 130 90"]\n\n1. Ra8+ Kd7 *', 0, ["Ra8", "Kd7"]),
    ],
)  # fmt: skip
def test_moves_after_a_draw_by_our_rules_are_kept(text: str, played: int, rest: list[str], tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=rf"the game is over after {played} moves; the rest, {len(rest)}, is in"):
        game = load(text, tmp_path)
    assert len(game.actions) == played and game.terminated and game.notes["after_end"] == rest


@pytest.mark.parametrize(
    ("ending", "before", "sign", "after"),
    [(".pgn", "", "{", ""), (".pgn", "", "x", ""), (".sgf", "(;SZ[9])(;C", "[", ""), (".sgf", "(;B[", "a", "])")],
)
def test_errors_of_large_files_are_short_and_quick(
    ending: str, before: str, sign: str, after: str, tmp_path: Path
) -> None:
    (tmp_path / f"game{ending}").write_text(before + sign * 200_000 + after)
    with pytest.raises(ValueError, match="holds no game that can be read") as caught:
        load_games(tmp_path / f"game{ending}")
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


def test_no_game_of_a_file_is_lost(tmp_path: Path) -> None:
    """A comment to the end of a line may have a bracket, and a game need not have tags."""
    path = tmp_path / "games.pgn"
    for text in (
        '[Event "A"]\n\n1. e4 ; a { bracket\n1... e5 *\n\n[Event "B"]\n\n1. d4 {x} *',
        '[Event "A"]\n\n1. e4\n% a { bracket\n1... e5 *\n\n[Event "B"]\n\n1. d4 {x} *',
        "1. e4 e5 (1... c5 1-0) 1-0 ; over\n\n1. d4 *",
        '[Black-Elo "1900"]\n1. e4 e5 ½-½ {x} 1. d4 *',
        '{a} [Event "A"]\n{b}\n[White "B"]\n\n1. e4 e5 *\n[Event "B"] 1. d4 *',
    ):
        path.write_text(text)
        assert [game.names for game in load_games(path)] == [("e2e4", "e7e5"), ("d2d4",)], text


@pytest.mark.parametrize(
    ("ending", "text", "name", "result"),
    [
        (".pgn", "1. e4 e5 1-0", "Result", "1-0"),
        (".pgn", '[White "A"]\n[Result "*"]\n\n1. e4 e5 1/2', "Result", "1/2-1/2"),
        (".pgn", '[Result "1-0"]\n\n1. f3 e5 2. g4 Qh4# 1-0', "Result", "1-0"),
        (".pgn", '[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1', "Result", None),
        (".sgf", "(;SZ[9]RE[W+3.5];B[aa];W[];B[])", "RE", "W+3.5"),
        (".sgf", "(;SZ[9]RE[B+73.5];B[aa];W[];B[])", "RE", None),
        (".sgf", "(;GM[11]SZ[5];B[b1];W[resign])", "RE", "B+R"),
    ],
)
def test_results_that_do_not_follow_from_the_moves_are_kept(
    ending: str, text: str, name: str, result: str | None, tmp_path: Path
) -> None:
    assert load(text, tmp_path, ending).notes.get("tags", {}).get(name) == result


def test_a_past_that_pgn_cannot_express(tmp_path: Path) -> None:
    env = te.make("chess")
    start = env.state_to_dict(te.replay(te.record(env, ["Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1"])))
    te.save_game(te.record(env, ["e5"], start=start), tmp_path / "game.pgn")
    with pytest.raises(ValueError, match=r"start has a past by which the game ends, which \.pgn cannot express"):
        te.save_game(te.record(env, ["Ng8"], start=start), tmp_path / "game.pgn")


def test_tags_and_the_result_of_a_game_that_was_resigned_are_kept(tmp_path: Path) -> None:
    text = '[White "André"]\n[Date "2026.11.02"]\n[WhiteElo "2100"]\n[Result "0-1"]\n\n1. e4 e5 0-1\n'
    for data in (text, text.encode("latin-1"), text.encode("utf-16")):
        game = load(data, tmp_path, ".PGN")
        assert game.notes["tags"]["White"] == "André" and game.notes["tags"]["Result"] == "0-1"
        te.save_game(game, tmp_path / "again.PGN")
        again = pgn.read_game(io.StringIO((tmp_path / "again.PGN").read_text(encoding="utf-8")))
        headers = again.headers
        assert (headers["White"], headers["Date"], headers["Result"]) == ("André", "2026.11.02", "0-1")
        assert headers["WhiteElo"] == "2100" and te.load_game(tmp_path / "again.PGN") == game


def test_notes_of_strange_kinds_are_not_written(tmp_path: Path) -> None:
    game = te.record(te.make("chess"), ["e4"])
    for tags in (0, {"White": 5, "a b": "c", "FEN": "x", "Black": "two\nlines]"}):
        te.save_game(game.__class__(**{**vars(game), "notes": {"tags": tags}}), tmp_path / "game.pgn")
        text = (tmp_path / "game.pgn").read_text()
        assert '[White "?"]' in text and "FEN" not in text and ("two lines]" in text) == (tags != 0)


# *** SGF ***

SGF = [
    "(;GM[1]FF[4]SZ[9]KM[6.5];B[ee];W[cc];B[gg])",
    "(;FF[4]SZ[9];B[ee];W[];B[gg];W[])",
    "(;FF[4]SZ[9];B[ee];W[tt];B[gg])",
    "(;FF[4]SZ[19];B[pd];W[dp];B[pp];W[dd])",
    "(;FF[4];B[pd];W[dp])",
    "(;FF[4]SZ[9]AB[gc][cg];W[ee];B[ff])",
    "(;FF[4]SZ[9]HA[2]AB[gc][cg]PL[W];W[ee])",
    "(;FF[4]SZ[9]AB[aa]AW[bb]PL[B];B[ee])",
    "(;FF[4]SZ[9]C[a \\] b ( ; c]PB[A \\\\ B];B[ee]C[x];W[cc])",
    "(;FF[4]SZ[9];B[ee](;W[cc];B[gg])(;W[gg]))",
    "(;FF[4]SZ[13]RU[Japanese]DT[2026-11-02]RE[W+R];B[dd];W[jj])",
    "(;FF[4]\nSZ[9]\n;B[ee]\n;W [cc]\n)",
    "(;FF[4]SZ[9]KM[0]HA[0];B[ee];W[ef];B[df])",
    "(;FF[4]SZ[5]KM[0.5];B[bb];W[ab];B[aa];W[ba];B[ac])",
    "(;FF[4]SZ[9]TM[600]OT[3x30]BL[500];B[ee]BL[480];W[cc]WL[470])",
]


@pytest.mark.few(3)
@pytest.mark.parametrize("text", SGF)
def test_sgf_has_the_moves_and_stones_that_sgfmill_reads(text: str, tmp_path: Path) -> None:
    judged = sgf.Sgf_game.from_string(text)
    game = load(text, tmp_path, ".sgf")
    env = te.make("go", **{k: v for k, v in game.game["rules"].items()})
    size = judged.get_size()
    assert game.game["rules"]["size"] == size
    if "KM" in text:
        assert game.game["rules"]["komi"] == judged.get_komi()
    assert_same_moves(game, judged)
    te.save_game(game, tmp_path / "again.sgf")
    again = sgf.Sgf_game.from_bytes((tmp_path / "again.sgf").read_bytes())
    assert_same_moves(game, again)
    for name in ("DT", "RU", "PB"):
        if judged.get_root().has_property(name):
            assert again.get_root().get(name) == judged.get_root().get(name)
    if judged.get_root().has_setup_stones():
        black, white, _ = judged.get_root().get_setup_stones()
        assert game.start is not None
        board = {divmod(cell, size): stone for cell, stone in enumerate(game.start["board"]) if stone}
        assert board == dict.fromkeys(black, 1) | dict.fromkeys(white, -1)
    assert te.replay(game).env.rules == env.rules


def assert_same_moves(game: te.Record, judged: object) -> None:
    size, moves = game.game["rules"]["size"], list[tuple[str, int]]()
    for node in judged.get_main_sequence():  # type: ignore[attr-defined]
        colour, point = node.get_move()
        if colour is not None:
            moves.append((colour, size * size if point is None else point[0] * size + point[1]))
    assert moves == [("bw"[player], action) for player, action in zip(game.players, game.actions, strict=True)]


@pytest.mark.parametrize(
    ("text", "names", "player", "komi"),
    [
        ("(;SZ[9]HA[2]AB[gc][cg])", (), 1, 7.5),  # after handicap stones White moves first
        ("(;SZ[9]AB[gc][cg]AW[aa])", (), 0, 7.5),
        ("(;gm[1]sz[9];b[ee];w[cc])", ("E5", "C7"), 0, 7.5),
        ("(;Gm[1]Sz[9]Km[0.5];B[ee];W[cc])", ("E5", "C7"), 0, 0.5),
        ("(;GaMe[1]SiZe[9];Black[ee];White[cc])", ("E5", "C7"), 0, 7.5),
        ("(;SZ[9]KM[325];B[aa])", ("A9",), 0, 6.5),
        ("(;SZ[9]KM[375];B[aa])", ("A9",), 0, 7.5),
        ("(;SZ[9]KM[650];B[aa])", ("A9",), 0, 6.5),
        ("(;SZ[9]KM[750];B[aa])", ("A9",), 0, 7.5),
        ("(;SZ[9]KM[3.75];B[aa])", ("A9",), 0, 7.5),
        ("(;SZ[9]KM[6,5];B[aa])", ("A9",), 0, 6.5),
        ("(;SZ[9]KM[];B[aa])", ("A9",), 0, 7.5),
        ("(;SZ[9]KM[-0.5];B[aa])", ("A9",), 0, -0.5),
        ("(;SZ[9];B[aa];W[];B[];W[])", ("A9", "pass", "pass"), 0, 7.5),
        ("(;SZ[9]HA[3];B[aa];B[bb];B[cc];W[dd];B[ee])", ("D6", "E5"), 1, 7.5),
        ("Game (1) of 2\n(;SZ[9];B[aa])", ("A9",), 0, 7.5),
    ],
)
def test_sgf_that_servers_write(text: str, names: tuple[str, ...], player: int, komi: float, tmp_path: Path) -> None:
    game = load(text, tmp_path, ".sgf")
    assert game.names == names and game.game["rules"]["komi"] == komi
    assert (0 if game.start is None else game.start["current_player"]) == player


def test_play_that_is_resumed_after_two_passes_is_kept(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the game is over after 3 moves; the rest, 2, is in the record's notes"):
        game = load("(;SZ[9];B[aa];W[];B[];W[bb];B[cc])", tmp_path, ".sgf")
    assert game.names == ("A9", "pass", "pass") and game.notes["after_end"] == ["B8", "C7"]


def test_a_game_of_more_plies_than_the_limit_is_read(tmp_path: Path) -> None:
    """Stones that are played and captured go on for longer than twice the number of points."""
    env = te.make("go", size=3, max_plies=60)
    state, moves = env.init(1), list[int]()
    while len(moves) < 30:
        stones = [action for action in env.legal_actions(state) if action < 9] or [9]
        moves.append(stones[len(moves) % len(stones)])
        state = env.step(state, [moves[-1]])
    assert not state.terminated.item()
    points = ["" if move == 9 else f"{'abc'[move % 3]}{'cba'[move // 3]}" for move in moves]
    text = "(;SZ[3]KM[0.5]" + "".join(f";{'BW'[k % 2]}[{point}]" for k, point in enumerate(points)) + ")"
    game = load(text, tmp_path, ".sgf")
    assert [*game.actions] == moves and game.game["rules"]["max_plies"] == 31 and not game.terminated


@pytest.mark.parametrize(
    ("named", "encoding", "player"),
    [
        ("UTF-8", "utf-8", "张三丰"),
        ("GBK", "gbk", "张三丰 乗"),
        ("gb2312", "gb2312", "张三丰"),
        ("Shift_JIS", "shift_jis", "表ソ能"),  # their second bytes are backslashes
        ("EUC-KR", "euc_kr", "김철수"),
        ("Big5", "big5", "功蓋許"),
        ("ISO-8859-1", "latin-1", "André"),
        ("UTF-16", "utf-16", "张三丰"),
        ("UTF-16", "utf-16-be", "张三丰"),
        ("UTF-16", "utf-16-le", "张三丰"),
        ("", "latin-1", "André"),
        ("", "utf-8", "張三"),
    ],
)
def test_sgf_in_other_encodings(named: str, encoding: str, player: str, tmp_path: Path) -> None:
    charset = f"CA[{named}]" if named else ""
    text = f"(;FF[4]SZ[9]{charset}PB[{player}]PW[x]RE[B+R];B[ee];W[cc])"
    game = load(text.encode(encoding), tmp_path, ".SGF")
    assert game.names == ("E5", "C7") and game.notes["tags"] == {"PB": player, "PW": "x", "RE": "B+R"}
    te.save_game(game, tmp_path / "again.sgf")
    again = sgf.Sgf_game.from_bytes((tmp_path / "again.sgf").read_bytes())
    assert (again.get_player_name("b"), again.get_root().get("RE"), again.get_charset()) == (player, "B+R", "UTF-8")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("(;GM[11]SZ[5];B[b1];W[swap-pieces];B[c4];W[a5])", ("b1", "swap", "c4", "a5")),
        ("(;GM[11]SZ[5];B[b1];W[swap-sides];W[c4];B[a5])", ("b1", "swap", "d3", "e1")),
        ("(;GM[11]SZ[5];B[b1];W[swap];W[c4];B[a5])", ("b1", "swap", "d3", "e1")),
        ("(;GM[11]SZ[5];B[b1];W[swap];B[c4];W[a5])", ("b1", "swap", "c4", "a5")),
        ("(;GM[11]SZ[5];B[b1];W[swap-sides])", ("b1", "swap")),
        ("(;gm[11]sz[5];b[b1];w[c2])", ("b1", "c2")),
    ],
)
def test_swaps_of_hex(text: str, names: tuple[str, ...], tmp_path: Path) -> None:
    assert load(text, tmp_path, ".sgf").names == names


def test_a_swap_of_sides_is_the_mirror_image_of_one_of_pieces(tmp_path: Path) -> None:
    """Who connects wins in both: the first player goes on with White's edges, or with mirrored cells as Black."""
    sides = "(;GM[11]SZ[3];B[b1];W[swap-sides];W[a2];B[b2];W[a1];B[b3])"  # b1, b2, b3 connect the rows for B
    game = load(sides, tmp_path, ".sgf")
    assert game.terminated and game.rewards[-1] == (-1.0, 1.0)  # player 1 has taken over b1 by the swap


@pytest.mark.slow  # every length of several files
def test_files_that_break_off_are_errors(tmp_path: Path) -> None:
    """Every beginning of a saved file is refused, unless only spaces are missing."""
    games = {
        ".pgn": te.record(te.make("chess"), ["e4", "e5", "Nf3"]),
        ".sgf": te.record(te.make("go"), ["E5", "C7", "pass"]),
        ".mat": te.record(te.make("backgammon"), first_actions(6)),
    }
    for ending, game in games.items():
        path = tmp_path / f"whole{ending}"
        te.save_game(game, path)
        data, other = path.read_bytes(), tmp_path / f"cut{ending}"
        for length in range(len(data)):
            if data[length:].strip():
                other.write_bytes(data[:length])
                with pytest.raises(ValueError, match="holds no game that can be read"):
                    te.load_game(other)
        assert te.load_game(path) == game


def first_actions(count: int) -> list[int]:
    env = te.make("backgammon")
    state, actions = env.init(1), list[int]()
    for _ in range(count):
        actions.append(min(env.legal_actions(state)))
        state = env.step(state, actions[-1:])
    return actions

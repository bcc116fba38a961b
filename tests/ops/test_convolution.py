"""Win checks by convolution: kernels, sums and winners agree in all forms, on any board."""

import resource
import time
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes
from tinygrad.dtype import DType

import tensor_envs as te
from tensor_envs import ops
from tensor_envs.ops.bits import completed
from tensor_envs.ops.lines import Direction, flat_step, line_directions
from tensor_envs.rules import pack
from tests.games.chance import game_key
from tests.games.hyper_tic_tac_toe.reference import Reference, lines

Shape = tuple[int, ...]
BOARDS: list[tuple[Shape, int]] = [
    ((7,), 3),
    ((3, 3), 3),
    ((6, 7), 4),
    ((1, 5), 2),
    ((3, 40), 3),  # rows longer than a word
    ((3, 3, 3), 3),
    ((4, 2, 5, 3), 3),  # an axis too short for a line
    ((3,) * 4, 3),
    ((2, 3), 1),
    ((2, 1, 1, 3, 1, 2), 2),
]
ROWS = 24  # of one size, since each size compiles a kernel


def random_boards(shape: Shape, count: int, seed: int = 0, empty: float = 0.25) -> np.ndarray:
    chance = np.random.default_rng(seed)
    p = [(1 - empty) / 2, empty, (1 - empty) / 2]
    return chance.choice(np.array([-1, 0, 1], dtype=np.int8), size=(count, *shape), p=p)


def has_line(board: np.ndarray, k: int, player: int) -> bool:
    game = Reference(game_key(0, 0, 0), shape=board.shape, k=k)
    game.board = board.reshape(-1).tolist()
    return game.has_line(player)


# *** kernels ***


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (4, 1), (1, 3), (3, 2), (5, 3), (2, 5), (3, 7)])
def test_kronecker_delta(n: int, rank: int) -> None:
    delta = ops.kronecker_delta(n, rank)
    assert delta.shape == (n,) * rank and delta.dtype is dtypes.int32
    expected = np.zeros((n,) * rank, dtype=np.int32)
    for i in range(n):
        expected[(i,) * rank] = 1
    assert (delta.numpy() == expected).all()


@pytest.mark.parametrize("arguments", [(0, 2), (3, 0), (-1, 1), (2.0, 2), (True, 2)])
def test_kronecker_delta_refuses(arguments: tuple[Any, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^(n|rank) must be "):
        ops.kronecker_delta(*arguments)


@pytest.mark.few(1)
@pytest.mark.parametrize(("rank", "k"), [(1, 3), (2, 3), (3, 2), (3, 3), (4, 2)])
def test_line_kernels_are_the_deltas_flipped_and_transposed(rank: int, k: int) -> None:
    kernels = ops.line_kernels(rank, k)
    assert list(kernels) == line_directions(rank)
    for d, kernel in kernels.items():
        assert kernel.shape == tuple(k if e else 1 for e in d)
        cells = {tuple(int(c) for c in cell) for cell in np.argwhere(kernel.numpy() != 0)}
        assert cells == {tuple({1: t, -1: k - 1 - t, 0: 0}[e] for e in d) for t in range(k)}
        assert kernel.numpy().sum() == k
    whole = {d: kernel.numpy() for d, kernel in kernels.items() if 0 not in d}
    assert len(whole) == 2 ** (rank - 1)
    for axes in permutations(range(rank)):  # flips and transpositions map the cube's diagonals to each other
        images = {np.transpose(kernel, axes).tobytes() for kernel in whole.values()}
        assert images == {kernel.tobytes() for kernel in whole.values()}


def test_line_kernels_of_rank_7() -> None:
    kernels = ops.line_kernels(7, 2)
    assert len(kernels) == 1093
    d = (1, 0, -1, 0, 0, 1, -1)
    assert np.argwhere(kernels[d].numpy()).tolist() == [[0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1, 0]]


# *** sums ***


def correlate(board: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Compute the convolution by its definition: at every placement the sum of all products."""
    placed = [range(n - m + 1) for n, m in zip(board.shape, kernel.shape, strict=True)]
    sums = np.zeros([len(r) for r in placed], dtype=np.int32)
    for corner in product(*placed):
        window = board[tuple(slice(c, c + m) for c, m in zip(corner, kernel.shape, strict=True))]
        sums[corner] = (window * kernel).sum()
    return sums


@pytest.mark.few(1)
@pytest.mark.parametrize(("shape", "k"), [(s, k) for s, k in BOARDS if len(s) <= 4])
def test_line_convolution_is_the_convolution_with_the_kernels(shape: Shape, k: int) -> None:
    boards = random_boards(shape, ROWS)
    kernels, sums = ops.line_kernels(len(shape), k), ops.line_convolution(boards, k, rank=len(shape))
    fits = [d for d in kernels if all(n >= k for n, e in zip(shape, d, strict=True) if e)]
    assert list(sums) == fits
    for d, sums_of_direction in sums.items():
        assert sums_of_direction.dtype is dtypes.int32
        sums_of_boards, kernel = sums_of_direction.numpy(), kernels[d].numpy()
        for row, board in enumerate(boards[:2]):
            assert (sums_of_boards[row] == correlate(board, kernel)).all(), d


@pytest.mark.slow
def test_line_convolution_is_conv2d_without_padding() -> None:
    boards = Tensor(random_boards((6, 7), 3), device="CPU")
    sums = ops.line_convolution(boards, 4, rank=2)
    for d, kernel in ops.line_kernels(2, 4).items():
        expected = boards.cast("float32").unsqueeze(1).conv2d(kernel.cast("float32").reshape(1, 1, *kernel.shape))
        assert (expected.squeeze(1).numpy() == sums[d].numpy()).all()


def test_line_convolution_of_the_seed() -> None:
    """The specification's example has three marks down the left edge."""
    board = np.array([[1, 1, -1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    column: Direction = (1, 0)
    assert ops.line_convolution(board, 3)[column].numpy().tolist() == [[3, 2, -1, 0, 0], [2, 1, 0, 0, 0]]


# *** winners ***


@pytest.mark.few("shape0")
@pytest.mark.parametrize(("shape", "k"), BOARDS)
def test_all_forms_of_the_check_are_equal(shape: Shape, k: int) -> None:
    """Bit words in one kernel, sums of slices, unrolled bit words and the reference's lists of lines agree."""
    rows, rank = ROWS, len(shape)
    boards = random_boards(shape, rows, empty=0.9 if k == 1 else 0.3)
    counts, winners = ops.count_lines(boards, k, rank).numpy(), ops.winner(boards, k, rank).numpy()
    sums = {d: s.numpy().reshape(rows, -1) for d, s in ops.line_convolution(boards, k, rank).items()}
    assert counts.shape == (rows, len(sums), 2) and counts.dtype == np.int32
    for player, mark in enumerate((1, -1)):
        by_sums = np.stack([(s == k * mark).sum(1) for s in sums.values()], axis=1)
        assert (counts[:, :, player] == by_sums).all()
        for row, board in enumerate(boards):
            words = pack(np.flatnonzero(board == mark).tolist(), board.size)
            by_bits = [
                sum(w.bit_count() for w in words_of_direction) for words_of_direction in completed(words, shape, k)
            ]
            assert counts[row, :, player].tolist() == by_bits
            assert bool(counts[row, :, player].any()) == has_line(board, k, player)
    first, second = (counts[:, :, p].any(axis=1) for p in (0, 1))
    assert first.any() and second.any(), "boards without a line prove little"
    assert (winners == np.where(first == second, 0, np.where(first, 1, -1))).all()


@pytest.mark.slow
def test_winner_is_the_environments_own_check() -> None:
    for shape, k in (((3, 3), 3), ((4, 2, 5, 3), 3), ((9, 8), 4)):
        env = te.make("hyper_tic_tac_toe", shape=shape, k=k)
        vector = te.VectorEnv(env, 64, seed=2, autoreset="disabled")
        rewards = np.zeros(64)
        for ply in range(env.num_actions):
            rewards += vector.step_uniform().rewards.numpy()[:, 0]
            if ply + 1 in (env.num_actions // 2, env.num_actions * 3 // 4, env.num_actions):
                planes = env.observe(vector.state, player=0).cast("int8")
                assert (ops.winner(planes[:, 0] - planes[:, 1], k, rank=len(shape)).numpy() == rewards).all()
        assert len(set(rewards)) > 1


@pytest.mark.few("shape0")
@pytest.mark.parametrize(("shape", "k"), [((3, 3), 3), ((3, 4, 3), 3), ((5, 33), 4), ((2, 3, 2), 2)])
def test_every_line_alone_is_found_where_it_is(shape: Shape, k: int) -> None:
    """Each line of a board is found alone, for either player, and never with one mark missing."""
    all_lines = lines(shape, k)
    boards = np.zeros((2, len(all_lines), int(np.prod(shape))), dtype=np.int8)
    for i, line in enumerate(all_lines):
        boards[0, i, line] = boards[1, i, line] = -1 if i % 2 else 1
        boards[1, i, line[i % k]] = 0
    boards = boards.reshape(2, len(all_lines), *shape)
    winners = ops.winner(boards, k, rank=len(shape)).numpy()
    assert winners.shape == (2, len(all_lines))
    assert winners[0].tolist() == [-1 if i % 2 else 1 for i in range(len(all_lines))]
    assert not winners[1].any()
    for i in range(0, len(all_lines), 7):
        (completed_line,) = ops.find_lines(boards[0, i], k)
        assert completed_line.player == winners[0, i]
        cells = [int(np.ravel_multi_index(cell, shape)) for cell in completed_line.cells(k)]
        assert sorted(cells) == sorted(all_lines[i])


@pytest.mark.few(1)
@pytest.mark.parametrize(("shape", "k"), [((4, 4), 3), ((3, 3, 4), 3), ((8, 7), 7), ((2, 2, 2, 5), 2)])
def test_lines_do_not_wrap(shape: Shape, k: int) -> None:
    """Steps of a direction that leave the board, taken on the flat board, make no line."""
    cells, every = int(np.prod(shape)), {frozenset(line) for line in lines(shape, k)}
    wrapped = set()
    for d in line_directions(len(shape)):
        step = flat_step(shape, d)
        wrapped |= {frozenset(start + t * step for t in range(k)) for start in range(cells - (k - 1) * step)}
    wrapped = {line for line in wrapped - every if min(line) >= 0 and len(line) == k}
    assert wrapped
    boards = np.zeros((len(wrapped), cells), dtype=np.int8)
    for board, line in zip(boards, wrapped, strict=True):
        board[list(line)] = 1
    assert not ops.winner(boards.reshape(-1, *shape), k, rank=len(shape)).numpy().any()


def test_both_players_with_lines() -> None:
    board = np.array([[1, 1, 1], [0, 0, 0], [-1, -1, -1]])
    assert ops.winner(board, 3).item() == 0
    assert ops.count_lines(board, 3).numpy().tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    assert ops.find_lines(board, 3) == [ops.Line(1, (0, 1), (0, 0)), ops.Line(-1, (0, 1), (2, 0))]


def test_batches_devices_and_dtypes() -> None:
    boards = random_boards((4, 4), 12)
    expected = ops.winner(boards, 3, rank=2).numpy()
    assert set(expected) == {1, 0, -1}
    assert [ops.winner(board, 3).item() for board in boards[:3]] == expected[:3].tolist()
    assert (ops.winner(-boards, 3, rank=2).numpy() == -expected).all()
    assert (ops.winner(boards.reshape(3, 2, 2, 4, 4), 3, rank=2).numpy() == expected.reshape(3, 2, 2)).all()
    for dtype in (np.int16, np.int64):
        assert (ops.winner(boards.astype(dtype), 3, rank=2).numpy() == expected).all()
        tensor = Tensor(boards.astype(dtype), device="CPU")
        assert (ops.winner(tensor, 3, rank=2).numpy() == expected).all()
    assert (ops.winner(boards[:, ::-1].transpose(0, 2, 1), 3, rank=2).numpy() == expected).all()
    assert ops.winner(Tensor.ones(3, 3, dtype=dtypes.int32), 3).item() == 1
    assert ops.winner(Tensor([[1, 1, 1], [2, 2, 2], [-2, 0, 0]], device="CPU"), 3).item() == 1


@pytest.mark.slow
def test_threads_of_a_gpu() -> None:
    """tinygrad's interpreter runs the GPU form of the kernel."""
    for shape, k, count in (((3, 3), 3, 3), ((5, 40), 4, 2)):
        boards = random_boards(shape, count)
        counts = ops.count_lines(boards, k, rank=2, device="PYTHON").numpy()
        assert counts.any() and (counts == ops.count_lines(boards, k, rank=2, device="CPU").numpy()).all()


def test_winner_inside_a_jit() -> None:
    check = TinyJit(lambda board: ops.winner(board, 3, rank=2).realize())
    for seed in range(3):
        boards = random_boards((3, 4), 32, seed)
        winners = check(Tensor(boards, device="CPU").realize()).numpy()
        assert (winners == ops.winner(boards, 3, rank=2).numpy()).all() and winners.any()


@pytest.mark.slow
def test_find_lines_is_bounded_and_in_order() -> None:
    board = np.ones((4, 40), dtype=np.int8)  # six words
    every = ops.find_lines(board, 3, max_lines=1000)
    assert len(every) == ops.num_lines((4, 40), 3) == len(set(every)) == 384
    assert [line.direction for line in every] == sorted(line.direction for line in every)
    for limit in (11, 160, 383):
        assert ops.find_lines(board, 3, limit) == every[:limit]
        assert ops.find_lines(board, 3, limit, counts=ops.count_lines(board, 3).numpy()) == every[:limit]
    assert ops.find_lines(np.zeros((4, 4), dtype=np.int8), 3) == []
    assert [line.start for line in ops.find_lines(np.array([[0, 1], [-1, 0]]), 1)] == [(0, 1), (1, 0)]


@pytest.mark.parametrize("function", [ops.winner, ops.count_lines, ops.line_convolution, ops.find_lines])
def test_bad_boards(function: Any) -> None:
    board = np.zeros((3, 3), dtype=np.int8)
    for wrong in (board.astype(float), board.astype(bool), board.astype(np.uint8), [[0, 0], [0, 0]], None):
        with pytest.raises(TypeError, match="board must"):
            function(wrong, 2)
    for tensor in (Tensor.zeros(3, 3), Tensor.zeros(3, 3, dtype=dtypes.bool), Tensor.zeros(3, 3, dtype=dtypes.uint8)):
        with pytest.raises(TypeError, match="signed integer"):
            function(tensor, 2)
    for k in (0, -1, 4):
        with pytest.raises(ValueError, match=r"k must be in 1\.\."):
            function(board, k)
    with pytest.raises(TypeError, match="k must be an int"):
        function(board, 2.0)
    with pytest.raises(ValueError, match="got values from 0 to 2"):
        function(np.array([[0, 2], [0, 0]]), 2)
    with pytest.raises(ValueError, match=r"board must have 1\.\.12 axes, all of them of 1 or more cells"):
        function(np.zeros((3, 0), dtype=np.int8), 1)
    with pytest.raises(ValueError, match="NOPE"):
        function(board, 2, device="NOPE")


def test_bad_ranks_limits_and_tensors() -> None:
    board = np.zeros((3, 3), dtype=np.int8)
    for rank in (0, 3):
        with pytest.raises(ValueError, match=r"rank must be in 1\.\.2"):
            ops.winner(board, 2, rank=rank)
    with pytest.raises(ValueError, match="one or more boards"):
        ops.winner(np.zeros((0, 3, 3), dtype=np.int8), 2, rank=2)
    with pytest.raises(ValueError, match="max_lines"):
        ops.find_lines(board, 2, max_lines=0)
    with pytest.raises(ValueError, match="no values but"):
        ops.find_lines(Tensor([[2, 0], [0, 0]], device="CPU"), 2)
    with pytest.raises(ValueError, match="device must be None"):
        ops.winner(Tensor.zeros(2, 2, dtype=dtypes.int8).clone("CPU"), 2, device="PYTHON")


# *** large boards ***


@pytest.mark.slow
def test_rank_7() -> None:
    """Sums find two long diagonals and a random board's lines among 2,187 cells and 1,093 directions."""
    shape, k = (3,) * 7, 3
    boards = np.zeros((3, *shape), dtype=np.int8)
    for t in range(k):
        boards[(0, *[t] * 7)] = 1
        boards[(1, t, *[2 - t] * 6)] = -1
    boards[2] = random_boards(shape, 1)[0]
    assert ops.winner(boards, k, rank=7).numpy().tolist() == [1, -1, 0]
    assert ops.find_lines(boards[1], k) == [ops.Line(-1, (1, *[-1] * 6), (0, *[2] * 6))]
    counts = ops.count_lines(boards[2], k).numpy()
    assert counts.shape == (1093, 2) and counts.any()
    for d, counts_of_direction in zip(line_directions(7), counts, strict=True):
        cells = (boards[2][tuple({1: t, -1: 2 - t, 0: slice(None)}[e] for e in d)] for t in range(k))
        sums = sum(cells)
        assert counts_of_direction.tolist() == [(sums == 3).sum(), (sums == -3).sum()]


@pytest.mark.slow
def test_312_million_cells() -> None:
    """One hidden line is found on [50] * 5 with k = 5 on the CPU device within 60 s and 4 GB."""
    board = np.zeros((50,) * 5, dtype=np.int8)
    random = np.random.default_rng(0)
    board.reshape(-1)[random.integers(0, board.size, 300_000)] = 1
    line = [(45 + t, 49 - t, 7, 4 - t, 45 + t) for t in range(5)]
    for cell in line:
        board[cell] = -1
    begin = time.perf_counter()
    assert ops.winner(board, 5, device="CPU").item() == -1
    assert ops.find_lines(board, 5, device="CPU") == [ops.Line(-1, (1, -1, 0, -1, 1), line[0])]
    assert time.perf_counter() - begin < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4_000_000  # KB


@pytest.mark.parametrize("dtype", [dtypes.int16, dtypes.int32, dtypes.int64])
def test_wide_integers_do_not_become_marks(dtype: DType) -> None:
    assert ops.winner(Tensor([257, 257, 257], dtype=dtype), 3).item() == 0
    assert ops.winner(Tensor([-1, -1, -1], dtype=dtype), 3).item() == -1

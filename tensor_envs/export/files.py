"""Exported files: the functions of a game below a header that states layout and sizes."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tensor_envs._compiler.pairs import ADD64
from tensor_envs._engine.batch_layout import MAX_BLOCKS, BlockGrid
from tensor_envs._runtime.wasm import webassembly
from tensor_envs.export.functions import (
    Arrays,
    ExportC,
    ExportCUDA,
    ExportWGSL,
    Function,
    arrays,
    c_functions,
    functions,
    metadata,
    printers,
    sizes,
)

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env

WIDTH = 116
MARK = "exported by tensor_envs"
SECTION = b"tensor_envs"  # name of the section of a WebAssembly module that holds metadata as JSON
MAX_INDEX = 2**31 - 1  # indices have 32 bits
MAX_WORKGROUPS = {"cuda": 2**31 - 1, "wgsl": 65535}
PURPOSE = {
    "seed": "Write the random keys of games first_row, first_row + 1, ... The 64-bit seed is passed as two halves.",
    "init": "Write the first state of every game.",
    "step": "Play one action in every game, in place. A finished game stays as it is, with rewards of 0.",
    "reset": "Start the next episode of every finished game, in place.",
    "sample": "Write a uniformly random legal action for every game, and 0 for a finished game.",
    "observe": "Write the observation of every game for its player to move.",
    "mask": "Write 1 for every legal action, and 0 for every other action.",
    "rollout": "Play `steps` uniformly random legal actions in every game, in place, and reset games as they end. No "
    "game may be finished before the call. Totals are the returns of all players, then the episodes that each has won.",
}
HEAD = """\
/*
{env}, {generator}
{rules}

MEMORY. The caller allocates all arrays. They hold whole blocks of {lanes} games, and the last block is padded:
{arrays}
Value v of game g in [blocks, values, {lanes}] has the index (g / {lanes} * values + v) * {lanes} + g % {lanes}.
A bool is one byte, 0 or 1. Arrays need the alignment of their type only, and must not overlap. A call plays at most
{blocks} blocks; for more games, call again with pointers to later blocks. Functions have no static data, so threads may
play different blocks at the same time.

GAMES. Seed, number (row) and actions alone determine a game, bit for bit as in tensor_envs. An illegal action ends the
game: the player to move gets -1, and the other players share +1. The end of this file lists the actions.

STATES. A state has {words} words. The rewards of the last step are one float32 for each player, from word {rewards} on.
Action a is legal if bit a % 32 of word {mask} + a / 32 is set. The fields stand at word:shift:width or
word:shift:width:low. A value is the `width` bits from bit `shift` of the word up, plus `low`. A value of 64 bits takes
two words, the lower half first. A game is finished if terminated or truncated is 1; ignore its current_player then.
{slots}

{use}
*/
"""
USE_C = """\
USE. Compile this file as C11 with gcc or clang. Elsewhere, include it after #define {PREFIX}_DECLARATIONS for its
declarations alone; C++ always gets these alone."""
USE_CUDA = """\
USE. Launch a kernel with {lanes} threads for each block of games, on pointers to device memory."""
USE_WGSL = """\
USE. Dispatch an entry point with one workgroup for each block of games. All entry points share one bind group; give its
layout explicitly, since an entry point does not use all bindings. `numbers` holds the numbers that are named above an
entry point. Values of one byte are packed into u32, the lowest byte first."""
UNUSED = "__attribute__((unused)) "
MACROS = """\
#define {P}_INDEX(game, value, values) (((game) / {P}_LANES * (values) + (value)) * {P}_LANES + (game) % {P}_LANES)
#define {P}_WORD(states, game, word) (states)[{P}_INDEX(game, word, {P}_WORDS)]
#define {P}_BITS(states, game, word, shift, width) \\
  ({P}_WORD(states, game, word) >> (shift) & 0xFFFFFFFFu >> (32 - (width)))
#define {P}_CURRENT_PLAYER(states, game) ((int){P}_BITS(states, game, {current_player}) + {low})
#define {P}_TERMINATED(states, game) {P}_BITS(states, game, {terminated})
#define {P}_TRUNCATED(states, game) {P}_BITS(states, game, {truncated})
#define {P}_LEGAL(states, game, action) {P}_BITS(states, game, {P}_MASK + (action) / 32, (action) % 32, 1)
{attribute}static inline float {name}_reward(const unsigned int *states, long game, int player) {{
  union {{ unsigned int bits; float value; }} x = {{{P}_WORD(states, game, {P}_REWARDS + player)}};
  return x.value;
}}
"""
# A fused multiply-add rounds once where other devices round twice, so both compilers are kept from it.
FILE_C = """\
#ifndef {P}_H
#define {P}_H
{macros}
#ifdef __cplusplus
extern "C" {{
#endif
{prototypes}#ifdef __cplusplus
}}
#endif
#endif

#if !defined({P}_DECLARATIONS) && !defined(__cplusplus)
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif
{bodies}#ifndef __clang__
#pragma GCC pop_options
#endif
#endif
"""


def c(env: Env, lanes: int) -> str:
    """Return the game as C."""
    grid = _grid(env, lanes, "c")
    name = name_of(env)
    printed = printers(ExportC, env, functions(lanes), arrays(env), grid)
    prototypes = "".join(f"{_comment(part)}{x.prototype(f'{name}_{part}')}\n" for part, x in printed.items())
    bodies = c_functions({f"{name}_{part}": printer for part, printer in printed.items()})
    parts = {"P": name.upper(), "macros": _macros(env, grid), "prototypes": prototypes, "bodies": bodies}
    return _head(env, grid, USE_C) + FILE_C.format(**parts) + _actions(env)


def cuda(env: Env, lanes: int) -> str:
    """Return the game as CUDA."""
    grid = _grid(env, lanes, "cuda")
    name = name_of(env)
    printed = printers(ExportCUDA, env, functions(lanes), arrays(env), grid)
    bodies = [_comment(part) + x.source(f"{name}_{part}") for part, x in printed.items()]
    head = _head(env, grid, USE_CUDA) + _macros(env, grid, f"{UNUSED}__host__ __device__ ")
    return "\n".join([head, *bodies]) + _actions(env)


def wgsl(env: Env, lanes: int) -> str:
    """Return the game as WGSL."""
    grid = _grid(env, lanes, "wgsl")
    constants = "".join(f"const {name} = {value};\n" for name, value in _constants(env, grid).items())
    entries = shader(env, functions(lanes), arrays(env), lanes)
    return _head(env, grid, USE_WGSL) + constants + entries + _actions(env)


def wasm(env: Env, lanes: int) -> bytes:
    """Return the game as a WebAssembly module with its metadata as JSON in a custom section."""
    chosen = functions(lanes)
    types = arrays(env)
    grid = _grid(env, lanes, "wasm")
    description = {
        "generator": _generator(),
        **metadata(env),
        "lanes": lanes,
        "max_blocks": grid.blocks - 1,
        "arrays": sizes(types),
        "functions": {name: [*x.parameters(types), *x.numbers, "blocks"] for name, x in chosen.items()},
    }
    content = bytes([len(SECTION)]) + SECTION + json.dumps(description, separators=(",", ":")).encode()
    return module(env, chosen, types, grid) + b"\0" + _leb128(len(content)) + content


def shader(env: Env, chosen: Mapping[str, Function], arrays: Arrays, lanes: int) -> str:
    """Return functions in WGSL as entry points that share the declarations of their arrays."""
    printed = printers(ExportWGSL, env, chosen, arrays, _grid(env, lanes, "wgsl"))
    elements = {array.name: x.element(array) for x in printed.values() for array in x.tape.arrays}
    texts = [ADD64]
    for k, name in enumerate(name for name in (*arrays, "numbers") if name in elements):
        texts.append(f"@group(0) @binding({k}) var<storage, read_write> {name}: array<{elements[name]}>;\n")
    for name, printer in printed.items():
        numbers = f"// numbers: {', '.join(chosen[name].numbers)}\n" if chosen[name].numbers else ""
        texts.append("\n" + _comment(name) + numbers + printer.source(f"{name_of(env)}_{name}"))
    return "".join(texts)


def module(env: Env, chosen: Mapping[str, Function], arrays: Arrays, grid: BlockGrid) -> bytes:
    """Return a WebAssembly module of functions.

    Raises:
        RuntimeError: if the compiler refuses them.
    """
    printed = printers(ExportC, env, chosen, arrays, grid)
    return webassembly(c_functions(printed), printed)


def name_of(env: Env) -> str:
    """Return the prefix of the names in a file."""
    name = re.sub(r"\W", "_", env.id.rpartition(":")[2].lower(), flags=re.ASCII)
    return name if name[0].isalpha() else f"game_{name}"


def _generator() -> str:
    from tensor_envs import __version__  # the page's Python imports this module, and has no such name

    return f"{MARK} {__version__}"


def _grid(env: Env, lanes: int, to: str) -> BlockGrid:
    """Return the largest grid whose indices fit 32 bits, plus one block."""
    index_limit = MAX_INDEX // (lanes * max(values for _, values in arrays(env).values()))
    gpu = to in MAX_WORKGROUPS
    blocks = min(index_limit, MAX_WORKGROUPS[to] + 1 if gpu else MAX_BLOCKS)
    return BlockGrid(blocks, lanes, gpu, max_blocks=blocks)


def _comment(function: str) -> str:
    return _wrap(PURPOSE[function], "// ", "// ") + "\n" if function in PURPOSE else ""


def _actions(env: Env) -> str:
    actions = (f"{number}={name}" for number, name in enumerate(env.action_names))
    return f"\n/* Actions:\n{_wrap(', '.join(actions))}\n*/\n"


def _wrap(text: str, first: str = "", others: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False, break_long_words=False
    )


def _head(env: Env, grid: BlockGrid, use: str) -> str:
    layout = env.engine.layout
    lanes = grid.lanes
    rows = list[str]()
    slots = list[str]()
    shapes = {"observations": env.observation_shape, "masks": (env.num_actions,)}
    for name, (dtype, values) in sizes(arrays(env)).items():
        shape = (lanes, *shapes[name]) if name in shapes else (values, lanes)
        rows.append(f"  {name:<13} {dtype:<8} [blocks, {', '.join(map(str, shape))}]")
    for name, places in layout.slots.items():
        text = " ".join(":".join(map(str, slot if slot.low else slot[:3])) for slot in places)
        slots.append(_wrap(f"{name} {text}", "  ", "    "))
    return HEAD.format(
        env=f"{env.id}-v{env.version}",
        rules=_wrap(str(env.rules)),
        generator=_generator(),
        lanes=lanes,
        blocks=grid.blocks - 1,
        arrays="\n".join(rows),
        words=layout.words,
        rewards=layout.rewards,
        mask=layout.mask,
        slots="\n".join(slots),
        use=use.format(PREFIX=name_of(env).upper(), lanes=lanes),
    )


def _constants(env: Env, grid: BlockGrid) -> dict[str, int]:
    values = {name: number for name, (_, number) in arrays(env).items()}
    constants = {
        "LANES": grid.lanes,
        "MAX_BLOCKS": grid.blocks - 1,
        "WORDS": values["states"],
        "KEY_WORDS": values["keys"],
        "PLAYERS": env.num_players,
        "ACTIONS": env.num_actions,
        "OBSERVATION_SIZE": values["observations"],
        "TOTALS": values["totals"],
        "REWARDS": env.engine.layout.rewards,
        "MASK": env.engine.layout.mask,
    }
    return {f"{name_of(env).upper()}_{name}": number for name, number in constants.items()}


def _macros(env: Env, grid: BlockGrid, attribute: str = UNUSED) -> str:
    constants = "".join(f"#define {name} {value}\n" for name, value in _constants(env, grid).items())
    slots = env.engine.layout.slots
    name = name_of(env)
    places = {x: ", ".join(map(str, slots[x][0][:3])) for x in ("current_player", "terminated", "truncated")}
    low = slots["current_player"][0].low
    return constants + MACROS.format(P=name.upper(), name=name, attribute=attribute, low=low, **places)


def _leb128(number: int) -> bytes:
    """Return a number in groups of seven bits, as WebAssembly encodes it."""
    groups = [number >> 7 * k & 127 for k in range(max(1, -(-number.bit_length() // 7)))]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])

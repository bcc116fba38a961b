/* Vector C of 3x3 tic-tac-toe, one game per lane, with the games in registers: an upper bound for vector code.

   A player's marks are eight counters, one per line: a move adds one table entry, and one test finds a win. Free cells
   are a list, from which one shift takes the n-th. See `struct games` for both. */
#include "threefry.h"

#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_permvarsi512) && __has_builtin(__builtin_ia32_psrlv16si)
#define WIDE /* 32 registers: two vectors side by side in every operation, and two such blocks to hide latency */
enum { LANES = 32, BLOCKS = 2 };
#else
enum { LANES = 16, BLOCKS = 1 };
#endif
typedef VECTOR(u32, LANES) vec;
typedef VECTOR(i32, LANES) truth; /* -1 or 0 */
typedef VECTOR(float, LANES) floats;
typedef VECTOR(u8, LANES) bytes;
typedef VECTOR(u64, LANES / 2) pairs;

struct games {
  vec key[2];     /* key of the uniform policy */
  vec counter[2]; /* ply and episode, to which the key has been added */
  vec list;       /* free cells, ascending, four bits each: cell ^ 8, so that cell 8 is the 0 beyond the end */
  vec own, other; /* of the player to move: at bit 3l, one more than the marks on line l; at bit 24 + c, cell c < 8 */
  /* outputs of the last step */
  vec mask, action;
  floats rewards[2];
  bytes terminated, truncated;
  bytes unused[2];
  vec wins[2]; /* a rollout's sums: of both players, and of the second */
};

const i64 game_bytes = sizeof(struct games) / LANES, lanes = LANES, block = LANES * BLOCKS;

#define LINE(l) (1u << 3 * (l))
#define CELL(c)                                                                                       \
  (LINE((c) / 3) | LINE(3 + (c) % 3) | ((c) % 4 ? 0 : LINE(6)) | ((c) % 2 || !((c) % 8) ? 0 : LINE(7)) \
   | ((c) < 8 ? 1u << (24 + (c)) % 32 : 0))
#define EMPTY 0x00249249u
#define THREE 0x00924924u
#define WHOLE_LIST 0xFEDCBA98u
#define WHOLE_MASK 0x1FFu

/* Variables instead of constants, for which clang 21.1 emits up to three instructions in place of one. */
vec one = 1;
u32 nine = 9;
pairs high = ~0ull << 32;

/* bits * n >> 32 */
INLINE vec scale(vec bits, vec n) {
  pairs a = (pairs)bits, b = (pairs)n, low = ~0u;
  return (vec)(((a & low) * (b & low)) >> 32 | ((a >> 32) * (b >> 32) & high));
}

/* Return what a mark adds to its player's counters; only the lowest four bits of a code count. */
static const u32 table[16] = {CELL(8), 0,       0,       0,       0,       0,       0,       0,
                              CELL(0), CELL(1), CELL(2), CELL(3), CELL(4), CELL(5), CELL(6), CELL(7)};

/* Shift by up to 32, which C's operators leave undefined; 32 clears. */
#ifdef WIDE
typedef VECTOR(i32, 16) words;
typedef union {
  vec whole;
  words part[LANES / 16];
} parts;

INLINE vec lines_of(vec code) {
  parts found = {code};
  words from;
  __builtin_memcpy(&from, table, sizeof from);
  for (int i = 0; i < LANES / 16; i++) found.part[i] = __builtin_ia32_permvarsi512(from, found.part[i]);
  return found.whole;
}

INLINE vec shift_down(vec x, vec by) {
  parts found = {x}, amount = {by};
  for (int i = 0; i < LANES / 16; i++)
    found.part[i] = __builtin_ia32_psrlv16si(found.part[i], amount.part[i]);
  return found.whole;
}

INLINE vec shift_up(vec x, vec by) {
  parts found = {x}, amount = {by};
  for (int i = 0; i < LANES / 16; i++)
    found.part[i] = __builtin_ia32_psllv16si(found.part[i], amount.part[i]);
  return found.whole;
}
#else
INLINE vec lines_of(vec code) {
  vec found;
  for (int i = 0; i < LANES; i++) found[i] = table[code[i] & 15];
  return found;
}

INLINE vec shift_down(vec x, vec by) { return x >> by / 2 >> by / 2; } /* `by` is even */
INLINE vec shift_up(vec x, vec by) { return x << by / 2 << by / 2; }
#endif

/* Return the free cells as bits. The counters of its row determine whether cell 8 is free. */
INLINE vec free_cells(vec own, vec other) {
  vec sum = own + other, last = sum << 2 ^ sum >> 22 ^ sum >> 23;
  return ~(sum >> 24 | (last & 256)) & WHOLE_MASK;
}

/* Initialise a batch. The uniform policy's key belongs to counter (row, 2^32 - 1). */
void begin(struct games *games, i64 batch, u32 low, u32 high) {
  for (i64 i = 0; i < batch / LANES; i++) {
    vec row, k0 = low, k1 = high;
    for (int j = 0; j < LANES; j++) row[j] = i * LANES + j;
    vec x = row + k0, y = k1 - 1;
    THREEFRY(x, y, k0, k1, (k0 ^ k1 ^ PARITY));
    y += k0 + 5;
    games[i] = (struct games){{x, y}, {x, y}, WHOLE_LIST, EMPTY, EMPTY, WHOLE_MASK};
  }
}

struct live { vec x, y, list, own, other, wins[2]; };
struct key { vec k0, k1, k2, end; };
struct said { vec code; truth won, even, ended; };

INLINE struct said step_one(struct live *s, const struct key *k) {
  vec x = s->x, y = s->y, left = k->end - x;
  THREEFRY(x, y, k->k0, k->k1, k->k2);
  vec at = scale(x, left) << 2, code = shift_down(s->list, at), beyond = shift_up(~0u, at);
  vec lines = s->own + lines_of(code);
  truth won = (lines & THREE) != 0, even = (left & 1) != 0, ended = won | (left == 1);
  s->x = ended ? k->k0 : s->x + 1;
  s->y = ended ? s->y + one : s->y;
  s->list = ended ? (vec)WHOLE_LIST : (s->list & ~beyond) | (s->list >> 4 & beyond);
  s->own = ended ? (vec)EMPTY : s->other;
  s->other = ended ? (vec)EMPTY : lines;
  s->wins[0] = won ? s->wins[0] + one : s->wins[0];
  s->wins[1] = won & ~even ? s->wins[1] + one : s->wins[1];
  return (struct said){code, won, even, ended};
}

INLINE void run(struct games *games, i64 batch, i64 steps, int sum_up) {
  for (struct games *g = games; g < games + batch / LANES; g += BLOCKS) {
    struct live live[BLOCKS];
    struct key key[BLOCKS];
    struct said said[BLOCKS];
    for (int j = 0; j < BLOCKS; j++) {
      vec k0 = g[j].key[0], k1 = g[j].key[1], zero = 0;
      key[j] = (struct key){k0, k1, k0 ^ k1 ^ PARITY, k0 + nine};
      live[j] = (struct live){g[j].counter[0], g[j].counter[1], g[j].list, g[j].own, g[j].other, {zero, zero}};
      if (sum_up)
        for (int p = 0; p < 2; p++) live[j].wins[p] = g[j].wins[p];
    }
    for (i64 n = 0; n < steps; n++)
#pragma clang loop unroll(full) /* or the games go to memory */
      for (int j = 0; j < BLOCKS; j++) said[j] = step_one(live + j, key + j);
    for (int j = 0; j < BLOCKS; j++) {
      struct live *s = live + j;
      truth won = said[j].won, even = said[j].even;
      g[j].counter[0] = s->x, g[j].counter[1] = s->y;
      g[j].list = s->list, g[j].own = s->own, g[j].other = s->other;
      g[j].mask = free_cells(s->own, s->other);
      g[j].action = (said[j].code ^ 8) & 15;
      g[j].rewards[0] = won ? (even ? (floats)1 : (floats)-1) : (floats)0;
      g[j].rewards[1] = won ? (even ? (floats)-1 : (floats)1) : (floats)0;
      g[j].terminated = __builtin_convertvector(said[j].ended, bytes) & 1;
      g[j].truncated = 0;
      if (sum_up)
        for (int p = 0; p < 2; p++) g[j].wins[p] = s->wins[p];
    }
  }
}

/* `batch` is a multiple of `block`. */
void play(struct games *games, i64 batch, i64 steps) { run(games, batch, steps, 1); }

/* Play one step, without sums. */
void step(struct games *games, i64 batch) { run(games, batch, 1, 0); }

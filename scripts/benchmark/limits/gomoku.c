/* Scalar C of 15x15 gomoku, five in a row, one game after the other: an upper bound for scalar code.

   A player's marks are stored by direction, with the cells of a line side by side. The four lines through a move are four
   16-bit words, and one test finds five in a row in all of them. Random words are computed for sixteen plies at a time, as
   a vector, because they depend only on row, episode and ply. */
#include "threefry.h"

enum { SIDE = 15, CELLS = SIDE * SIDE, WORDS = 4, LINES = 2 * SIDE + 2 * (2 * SIDE - 1), DRAWS = 16 };
typedef VECTOR(u32, DRAWS) draws;

struct game {
  u64 free[WORDS]; /* cell i at bit i % 64 of word i / 64 */
  u32 key[2];      /* key of the uniform policy */
  u32 ply, episode;
  u16 lines[2][LINES]; /* by player: rows, columns, diagonals, antidiagonals */
  float rewards[2];    /* rewards of the last step */
  u32 wins[2];
  u32 action, terminated; /* those of the last step */
};

const i64 game_bytes = sizeof(struct game);

/* By cell: the numbers of its lines, and its bits in them, 16 per direction. A line's last bit is never set. */
static struct {
  u8 line[4];
  u64 bits;
} table[CELLS];

static void make_table(void) {
  for (int cell = 0; cell < CELLS; cell++) {
    int r = cell / SIDE, c = cell % SIDE;
    int line[4] = {r, SIDE + c, 2 * SIDE + SIDE - 1 + r - c, 4 * SIDE - 1 + r + c};
    for (int d = 0; d < 4; d++) table[cell].line[d] = line[d];
    table[cell].bits = (u64)1 << c | (u64)1 << (16 + r) | (u64)1 << (32 + c) | (u64)1 << (48 + c);
  }
}

INLINE void clear(struct game *g) {
  for (int w = 0; w < WORDS; w++) g->free[w] = w < WORDS - 1 ? ~(u64)0 : ~(u64)0 >> (64 * WORDS - CELLS);
  for (int p = 0; p < 2; p++)
    for (int i = 0; i < LINES; i++) g->lines[p][i] = 0;
  g->ply = 0;
}

/* Initialise a batch. The uniform policy's key belongs to counter (row, 2^32 - 1). */
void begin(struct game *games, i64 batch, u32 low, u32 high) {
  make_table();
  for (i64 i = 0; i < batch; i++) {
    u32 x = i + low, y = ~0u + high;
    THREEFRY(x, y, low, high, (low ^ high ^ PARITY));
    games[i] = (struct game){.key = {x, y + low + 5}};
    clear(games + i);
  }
}

INLINE int nth_bit(u64 word, int n) {
#if defined(__BMI2__) && __has_builtin(__builtin_ia32_pdep_di)
  return __builtin_ctzll(__builtin_ia32_pdep_di((u64)1 << n, word));
#else
  int at = 0;
  for (int half = 32; half; half /= 2) {
    int lower = __builtin_popcountll(word >> at & (((u64)1 << half) - 1)), beyond = n >= lower;
    n -= beyond ? lower : 0, at += beyond ? half : 0;
  }
  return at;
#endif
}

/* Take the n-th free cell. The words stay in registers, because a store would delay the next loads. */
INLINE int take(u64 *free, int n) {
  int word = 0, passed = 0, sum = 0;
  u64 chosen = free[0];
  for (int w = 1; w < WORDS; w++) {
    sum += __builtin_popcountll(free[w - 1]);
    int beyond = n >= sum;
    word += beyond, passed = beyond ? sum : passed, chosen = beyond ? free[w] : chosen;
  }
  int bit = nth_bit(chosen, n - passed);
  for (int w = 0; w < WORDS; w++) free[w] &= ~((u64)(word == w) << bit);
  return 64 * word + bit;
}

/* Place a mark and return whether it completes five in a row. */
INLINE int mark(u16 *lines, int cell) {
  u64 run = 0;
  for (int d = 0; d < 4; d++) {
    u16 *line = lines + table[cell].line[d];
    *line |= table[cell].bits >> 16 * d;
    run |= (u64)*line << 16 * d;
  }
  u64 two = run & run >> 1;
  return (two & two >> 2 & run >> 4) != 0;
}

/* Return the uniform policy's random words of the next plies. */
INLINE draws words(const struct game *g) {
  u32 k0 = g->key[0], k1 = g->key[1];
  draws x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, y = g->episode + k1;
  x += g->ply + k0;
  THREEFRY(x, y, k0, k1, (k0 ^ k1 ^ PARITY));
  return x;
}

void play(struct game *games, i64 batch, i64 steps) {
  for (struct game *g = games; g < games + batch; g++) {
    u32 drawn[DRAWS];
    u64 free[WORDS];
    __builtin_memcpy(free, g->free, sizeof free);
    int player = 0, cell = 0, won = 0, ended = 0;
    for (i64 n = 0, used = DRAWS; n < steps; n++, used++) {
      if (used == DRAWS) {
        draws next = words(g);
        __builtin_memcpy(drawn, &next, sizeof next);
        used = 0;
      }
      player = g->ply & 1, cell = take(free, (u64)drawn[used] * (CELLS - g->ply) >> 32);
      won = mark(g->lines[player], cell), ended = won | (++g->ply == CELLS);
      if (ended) {
        g->wins[player] += won, g->episode++;
        clear(g);
        __builtin_memcpy(free, g->free, sizeof free);
        used = DRAWS - 1; /* the remaining words belong to the old episode */
      }
    }
    __builtin_memcpy(g->free, free, sizeof free);
    g->action = cell, g->terminated = ended;
    g->rewards[player] = won ? 1 : 0, g->rewards[1 - player] = won ? -1 : 0;
  }
}

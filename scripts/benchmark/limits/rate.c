/* Rate of 32-bit integer operations of one core's vector units. Independent chains hide latency; each alternates
 * operations that are frequent in games: an addition, an exclusive or and a shift. */
#include <stdint.h>

enum { CHAINS = 8, LANES = 8, OPERATIONS = 3 };
typedef uint32_t vector __attribute__((vector_size(4 * LANES)));
const int64_t operations_a_round = CHAINS * LANES * OPERATIONS;

void rate(uint32_t *values, int64_t rounds) {
  vector x[CHAINS], mask, step;
  for (int j = 0; j < LANES; j++) mask[j] = values[j] | 1, step[j] = values[j + LANES];
  for (int i = 0; i < CHAINS; i++) x[i] = mask * (uint32_t)(i + 3);
  for (int64_t t = 0; t < rounds; t++)
    for (int i = 0; i < CHAINS; i++) x[i] = ((x[i] + step) ^ mask) >> 1;
  for (int i = 1; i < CHAINS; i++) x[0] ^= x[i];
  for (int j = 0; j < LANES; j++) values[j] = x[0][j];
}

// A program that plays an exported game and writes all that it computes, for tests/export/test_export.py.
// Compile with -DSOURCE='"FILE"' -DNAME=prefix -DUPPER=PREFIX, and link the exported file.
#include <stdio.h>
#include <stdlib.h>
#include SOURCE

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define CALL(function) JOIN(NAME, function)
#define SIZE(constant) JOIN(UPPER, constant)

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  unsigned long long seed = strtoull(argv[1], 0, 10);
  int games = atoi(argv[2]), steps = atoi(argv[3]), turns = atoi(argv[4]), blocks = games / SIZE(LANES), half = blocks / 2;
  size_t n = (size_t)games, observation = n * SIZE(OBSERVATION_SIZE) * OBSERVATION_BYTES;
  size_t state_bytes = n * SIZE(WORDS) * 4, key_bytes = n * SIZE(KEY_WORDS) * 4, total_bytes = n * SIZE(TOTALS) * 4;
  unsigned *states = malloc(state_bytes), *keys = malloc(key_bytes);
  int *actions = malloc(n * 4);
  unsigned char *masks = malloc(n * SIZE(ACTIONS));
  void *observations = malloc(observation);
  float *totals = malloc(total_bytes);
  int finished = 0, illegal = 0;

  // the second half is played by calls of its own, on pointers to later blocks
  size_t later = (size_t)half * SIZE(LANES);
  CALL(seed)(keys, (int)(unsigned)seed, (int)(seed >> 32), 0, half);
  CALL(seed)(keys + later * SIZE(KEY_WORDS), (int)(unsigned)seed, (int)(seed >> 32), (int)later, blocks - half);
  CALL(init)(states, keys, half);
  CALL(init)(states + later * SIZE(WORDS), keys + later * SIZE(KEY_WORDS), blocks - half);
  fwrite(keys, 1, key_bytes, stdout);
  fwrite(states, 1, state_bytes, stdout);
  for (int step = 0; step < steps; step++) {
    CALL(sample)(states, keys, actions, blocks);
    for (int game = 0; game < games; game++) {
      if ((game + step) % 13 == 0) {
        int action = actions[game] = (game + step) % 26 ? (game + step) % (SIZE(ACTIONS) + 2) - 1 : -1;
        illegal += action < 0 || action >= SIZE(ACTIONS) || !SIZE(LEGAL)(states, game, action);
      }
    }
    fwrite(actions, 4, n, stdout);
    CALL(step)(states, keys, actions, blocks);
    fwrite(states, 1, state_bytes, stdout);
    for (int game = 0; game < games; game++) {
      int over = SIZE(TERMINATED)(states, game) || SIZE(TRUNCATED)(states, game);
      int player = SIZE(CURRENT_PLAYER)(states, game);
      if (!over && (player < 0 || player >= SIZE(PLAYERS))) return 3;
      finished += over;
    }
    if (step % 8 == 0) {
      CALL(mask)(states, masks, blocks);
      CALL(observe)(states, observations, blocks);
      fwrite(masks, 1, n * SIZE(ACTIONS), stdout);
      fwrite(observations, 1, observation, stdout);
    }
    if (step % 2) CALL(reset)(states, keys, blocks);
  }
  CALL(reset)(states, keys, blocks);
  CALL(rollout)(states, keys, totals, turns, blocks);
  fwrite(states, 1, state_bytes, stdout);
  fwrite(totals, 1, total_bytes, stdout);
  fprintf(stderr, "%d %d %g", finished, illegal, (double)CALL(reward)(states, 1, SIZE(PLAYERS) - 1));
  return 0;
}

// Play 1000 games of the exported connect four: player 0 prefers the middle column, player 1 plays at random.
// tensor_envs/export/README.md has the commands.
#include <stdio.h>
#include <stdlib.h>
#include "connect_four.c"

int main(void) {
  int games = 1000, wins[CONNECT_FOUR_PLAYERS] = {0};
  int blocks = (games + CONNECT_FOUR_LANES - 1) / CONNECT_FOUR_LANES;
  size_t rows = (size_t)blocks * CONNECT_FOUR_LANES;  // the last block is padded
  unsigned *states = malloc(rows * CONNECT_FOUR_WORDS * sizeof *states);
  unsigned *keys = malloc(rows * CONNECT_FOUR_KEY_WORDS * sizeof *keys);
  int *actions = malloc(rows * sizeof *actions);

  connect_four_seed(keys, 42, 0, 0, blocks);
  connect_four_init(states, keys, blocks);
  for (int step = 0; step < 42; step++) {
    connect_four_sample(states, keys, actions, blocks);  // player 1 plays at random
    for (int game = 0; game < games; game++)  // player 0 prefers the middle column
      if (CONNECT_FOUR_CURRENT_PLAYER(states, game) == 0 && CONNECT_FOUR_LEGAL(states, game, 3)) actions[game] = 3;
    connect_four_step(states, keys, actions, blocks);
    for (int game = 0; game < games; game++)
      for (int player = 0; player < 2; player++) wins[player] += connect_four_reward(states, game, player) > 0;
  }
  printf("%d games: player 0 wins %d, player 1 wins %d\n", games, wins[0], wins[1]);
}

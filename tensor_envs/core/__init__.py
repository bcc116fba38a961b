"""The core: what is the same in every game. game and layout, kernels, backend; engine; Env, State, VectorEnv."""

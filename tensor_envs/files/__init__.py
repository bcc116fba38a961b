"""Files of what users keep: arrays with a digest, states, records of games, and pictures of several positions."""

"""Play the games in a browser, like `python -m tensor_envs.play`."""

from tensor_envs.play.__main__ import main

if __name__ == "__main__":
    main()

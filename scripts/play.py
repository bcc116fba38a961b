"""Play the games in a browser, by clicking: `python -m tensor_envs.play`, as a script."""

from tensor_envs.play.__main__ import main

if __name__ == "__main__":
    main()

"""Let a text player play against a policy: `python scripts/text_player.py --help`."""

from text_player.main import main

if __name__ == "__main__":
    main()

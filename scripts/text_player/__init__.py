"""Parts of `scripts/text_player.py`."""

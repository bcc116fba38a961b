"""The parts of `scripts/play.py`: its page, its server, its tables, and who plays when nobody clicks."""

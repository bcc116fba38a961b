"""Solve Shed: `python scripts/shed.py --help`."""

from shed.main import main

if __name__ == "__main__":
    main()

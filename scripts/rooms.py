"""Figures of the package's rooms, and their picture; see `documents/rooms.py`."""

from documents.rooms import main

if __name__ == "__main__":
    main()

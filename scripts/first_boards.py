"""Seconds and bytes until the first board of a built page; see `pictures/first_boards.py`."""

from pictures.first_boards import main

if __name__ == "__main__":
    main()

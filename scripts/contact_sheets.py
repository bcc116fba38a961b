"""Photographs of the tables of all games; see `pictures/sheets.py`."""

from pictures.sheets import main

if __name__ == "__main__":
    main()

"""Films of whole games at the table of a built page; see `pictures/films.py`."""

from pictures.films import main

if __name__ == "__main__":
    main()

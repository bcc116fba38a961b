"""Parts that the games' folders share: entries, dictionaries, boards, symmetries, text and drawings. Pure Python."""

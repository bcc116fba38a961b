"""Everything that leans on tinygrad's inside; README.md lists what."""

"""The README's pictures, and what draws them again."""

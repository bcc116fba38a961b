"""Networks and learning."""

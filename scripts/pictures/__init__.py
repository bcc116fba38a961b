"""Pictures of the README and other pages, and the script that draws them."""

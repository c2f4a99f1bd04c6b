"""The settings: models, where they come from, what is checked across them, and the page that documents them."""

"""Where candidate exons come from: the built-in predictor, or a program that a user has."""

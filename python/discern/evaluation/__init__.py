"""How good probabilities are, and the decisions made from them."""

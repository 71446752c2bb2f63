"""How good predictions of several labels a row are, and the thresholds that decide them."""

"""Jobs of accuracy, and the table of every method on every data set."""

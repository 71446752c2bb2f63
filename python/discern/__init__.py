"""discern."""

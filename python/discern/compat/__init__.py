"""discern in the place of other libraries."""

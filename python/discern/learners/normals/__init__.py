"""Normal densities with shrunken covariances, from sums over rows."""

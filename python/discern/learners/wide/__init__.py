"""More columns than rows: discriminants and least squares from the products of rows, not of columns."""

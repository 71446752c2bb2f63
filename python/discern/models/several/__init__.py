"""Several labels a row: each label against the rows without it, from the sums of the distinct sets of labels."""

"""Several labels a row: sets of labels as texts, and reading them from lists, texts with a separator and flags."""

"""From statistics or matrices to parameters. Nothing here knows files, columns or labels."""

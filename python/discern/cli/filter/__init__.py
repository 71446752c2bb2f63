"""``discern filter``: classify one message, by a daemon if one is running."""

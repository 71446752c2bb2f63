"""How jobs are measured, recorded and shown."""

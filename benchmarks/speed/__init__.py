"""Jobs of time and memory."""

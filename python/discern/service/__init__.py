"""The service: ``discern serve``, a model over HTTP that learns, with a page to see it."""

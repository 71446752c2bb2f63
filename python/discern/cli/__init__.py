"""The command line: ``discern fit``, ``predict``, ``evaluate``, ``explain`` and the others."""

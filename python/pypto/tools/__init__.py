"""Programs for the command line: `python -m pypto.tools.doctor`, `.inspect` and `.mock_acl`."""

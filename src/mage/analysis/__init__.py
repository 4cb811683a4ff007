"""What can be computed without learning: exact limits, exact evaluation, statistics."""

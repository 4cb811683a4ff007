"""Training, evaluation and the run folder: the side effects."""

"""What is remembered across trials: texts with a key and a score, found again by likeness."""

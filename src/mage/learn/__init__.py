"""What is learned from trials: pure functions on arrays, no model, no input or output."""

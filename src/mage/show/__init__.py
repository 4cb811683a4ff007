"""What a person looks at: progress, report, play in the terminal."""

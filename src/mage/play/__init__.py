"""What happens in a trial: games, opponents, actors, memory, and the coroutine that plays. No model, no learning."""

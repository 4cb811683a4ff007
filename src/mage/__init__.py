"""Meta-reinforcement learning of language agents: several episodes, reflections between them, adaptation trained."""

__version__ = "0.1.0"

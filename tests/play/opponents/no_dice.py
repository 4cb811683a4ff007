"""Dice for opponents that must not draw."""


class NoDice:
    """Dice that fail when they are touched."""

    def pick(self, weights):
        raise AssertionError("a deterministic opponent drew")

    def seed(self):
        raise AssertionError("a deterministic opponent drew")

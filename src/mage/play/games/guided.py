"""A game played by somebody who knows how it is won: at every turn only the best action is legal."""

from __future__ import annotations

from mage.chance import Dice
from mage.errors import GameError
from mage.play.game import Closing, Episode, Game, Guided, is_won, units_of


class GuidedEpisode:
    """An episode in which only its `gold` action is legal; all else is as in the one it is of."""

    __slots__ = ("_gold", "episode")

    def __init__(self, episode: Episode, gold: Guided) -> None:
        self.episode, self._gold = episode, gold

    @property
    def seat(self) -> int | None:
        """As in the episode."""
        return self.episode.seat

    def observe(self, seat: int) -> str:
        """As in the episode."""
        return self.episode.observe(seat)

    def legal(self) -> tuple[str, ...]:
        """The best action."""
        return () if self.episode.seat is None else (self._gold.gold(),)

    async def step(self, action: str) -> None:
        """As in the episode."""
        await self.episode.step(action)

    async def forfeit(self, seat: int) -> None:
        """As in the episode."""
        await self.episode.forfeit(seat)

    def returns(self) -> tuple[float, ...]:
        """As in the episode."""
        return self.episode.returns()

    def outcome(self, seat: int) -> str:
        """As in the episode."""
        return self.episode.outcome(seat)

    def won(self) -> bool:
        """As in the episode."""
        return is_won(self.episode, 0)

    async def close(self) -> None:
        """As in the episode."""
        if isinstance(self.episode, Closing):
            await self.episode.close()


class GuidedGame:
    """A game of one seat whose episodes are guided. Raises GameError, at the first episode, where they cannot be."""

    def __init__(self, game: Game) -> None:
        if game.seats != 1:
            raise GameError(f"{game.name} has {game.seats} seats: an oracle plays games of one, where nobody is met")
        self._game = game
        self.name, self.seats, self.has_chance, self.dialect = game.name, game.seats, game.has_chance, game.dialect
        self.rules, self.vocabulary, self.units = game.rules, game.vocabulary, units_of(game)

    async def start(self, dice: Dice) -> GuidedEpisode:
        """A new episode of the game."""
        episode = await self._game.start(dice)
        if not isinstance(episode, Guided):
            raise GameError(f"{self.name} does not say how it is won: no oracle can play it")
        return GuidedEpisode(episode, episode)

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """Those of the episode."""
        assert isinstance(episode, GuidedEpisode)
        return self._game.facts(episode.episode, seat)

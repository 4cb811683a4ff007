"""OpenSpiel's two-player zero-sum games as MAGE games: one adapter, each game's words come in a `Description`."""

from __future__ import annotations

from typing import Any

import pyspiel

from mage.chance import Dice
from mage.errors import GameError
from mage.play.game import CHANCE, TERMINAL, Dialect, Episode
from mage.play.games.wording import Description

MEMO_LIMIT = 20_000
"""Nodes that a game keeps (about 35 MB); Kuhn (58) and Leduc (1,939) fit whole, of larger trees the first ones met."""


class Node:
    """A position of the game tree: immutable. Its children are built once and kept while the game's memo has room.

    `actions`, `chance`, `history`, `player` and `returns` are those of `mage.play.game.State`. Besides:
    `seat` is the player to move or None at the end, `names` the names of `actions` (none at a chance node).
    """

    __slots__ = (
        "_children",
        "_game",
        "_named",
        "_native",
        "_outcomes",
        "_texts",
        "actions",
        "chance",
        "history",
        "names",
        "player",
        "returns",
        "seat",
    )

    def __init__(self, game: OpenSpielGame, native: Any) -> None:
        self._game = game
        self._native = native
        self._children: dict[int, Node] = {}
        self._named: dict[str, Node] = {}
        self._texts: list[str | None] = [None] * game.seats
        self._outcomes: list[str | None] = [None] * game.seats
        self.player: int = native.current_player()
        self.history: tuple[int, ...] = tuple(native.history())
        self.chance: tuple[float, ...] = ()
        self.names: tuple[str, ...] = ()
        self.returns: tuple[float, ...] = ()
        self.seat: int | None = None
        if self.player == TERMINAL:
            self.actions: tuple[int, ...] = ()
            self.returns = tuple(native.returns())
        elif self.player == CHANCE:
            outcomes = native.chance_outcomes()
            self.actions = tuple(action for action, _ in outcomes)
            self.chance = tuple(probability for _, probability in outcomes)
        else:
            self.seat = self.player
            self.actions = tuple(native.legal_actions())
            self.names = tuple(game.description.actions[action] for action in self.actions)

    def native(self) -> Any:
        """A fresh `pyspiel.State` of this position, free to be played on."""
        return self._native.clone()

    def child(self, action: int) -> Node:
        """The position after `action`. Raises GameError if it is not legal here."""
        return self._children.get(action) or self._grow(action)

    def after(self, name: str) -> Node:
        """The position after the action called `name`. Raises GameError if it is not legal here."""
        return self._named.get(name) or self._grow_named(name)

    def show(self, seat: int) -> str:
        """What `seat` sees here."""
        text = self._texts[seat]
        if text is None:
            text = self._texts[seat] = self._game.wording.show(self, seat)
        return text

    def outcome(self, seat: int) -> str:
        """What `seat` is told at the end of an episode that ended here."""
        text = self._outcomes[seat]
        if text is None:
            text = self._outcomes[seat] = self._game.wording.outcome(self, seat)
        return text

    def _grow(self, action: int) -> Node:
        if action not in self.actions:
            raise GameError(f"action {action!r} is not legal here; legal: {_listed(self.actions)}")
        native = self._native.clone()
        native.apply_action_with_legality_check(action)
        node = Node(self._game, native)
        if self._game.keeps_another():
            self._children[action] = node
        return node

    def _grow_named(self, name: str) -> Node:
        if name not in self.names:
            raise GameError(f"action {name!r} is not legal here; legal: {_listed(self.names)}")
        action = self.actions[self.names.index(name)]
        node = self.child(action)
        if action in self._children:
            self._named[name] = node
        return node


class TreeEpisode:
    """One episode on a game tree: where it stands (`state`), and the dice that decide its chance nodes.

    `state` is what an opponent acts on; `seat` is the seat to move, None when the episode has ended.
    """

    __slots__ = ("_dice", "_game", "forfeited", "seat", "state")

    def __init__(self, game: OpenSpielGame, dice: Dice) -> None:
        self._game = game
        self._dice = dice
        self.forfeited: int | None = None
        self._stand(game.root())

    def _stand(self, node: Node) -> None:
        while node.player == CHANCE:
            node = node.child(node.actions[self._dice.pick(node.chance)])
        self.state = node
        self.seat: int | None = node.seat

    def observe(self, seat: int) -> str:
        """What `seat` may see now."""
        return self.state.show(seat)

    def legal(self) -> tuple[str, ...]:
        """Names of the legal actions of the seat to move; none when the episode has ended."""
        return self.state.names if self.seat is not None else ()

    async def step(self, action: str) -> None:
        """Play the action called `action`, then any chance. Raises GameError if it is not legal now."""
        if self.forfeited is not None:
            raise GameError(f"action {action!r} comes after the episode was forfeited")
        node = self.state.after(action)
        if node.player == CHANCE:
            self._stand(node)
        else:
            self.state = node
            self.seat = node.seat

    async def forfeit(self, seat: int) -> None:
        """End the episode: `seat` gets the game's lowest utility, the other seat its negation (zero-sum)."""
        if self.seat is None:
            raise GameError(f"seat {seat} cannot forfeit: the episode has ended")
        self.forfeited = seat
        self.seat = None

    def returns(self) -> tuple[float, ...]:
        """Return of each seat. Raises GameError before the end."""
        if self.forfeited is not None:
            worst = self._game.min_utility
            return tuple(worst if seat == self.forfeited else -worst for seat in range(self._game.seats))
        if self.seat is not None:
            raise GameError("the episode has not ended: it has no returns yet")
        return self.state.returns

    def outcome(self, seat: int) -> str:
        """How the episode ended, as `seat` may know it. Raises GameError before the end."""
        if self.forfeited is not None:
            return self._game.wording.forfeit(self.state, seat, self.forfeited, self.returns()[seat])
        if self.seat is not None:
            raise GameError("the episode has not ended: it has no outcome yet")
        return self.state.outcome(seat)


class OpenSpielGame:
    """A two-player zero-sum game of OpenSpiel with its words: the only implementation of `TreeGame` so far.

    Args:
        description: the game's words and the string OpenSpiel loads it from.
        dialect: in which dialect states are shown.
        memo_limit: how many nodes of the tree are kept.
    """

    def __init__(self, description: Description, dialect: Dialect, memo_limit: int = MEMO_LIMIT) -> None:
        self.native: Any = pyspiel.load_game(description.native)
        """The `pyspiel.Game`."""
        kind = self.native.get_type()
        self.description = description
        self.wording = description.wordings[dialect]
        self.name = description.name
        self.units = description.units
        self.dialect: Dialect = dialect
        self.seats: int = self.native.num_players()
        self.has_chance: bool = kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        self.perfect_information: bool = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self.min_utility: float = self.native.min_utility()
        self._room = memo_limit
        self._root = Node(self, self.native.new_initial_state())

    def keeps_another(self) -> bool:
        """Whether one more node may be kept; takes its place if so."""
        if self._room <= 0:
            return False
        self._room -= 1
        return True

    def rules(self, seat: int) -> str:
        """The rules and the goal for `seat` (empty in the compact dialect)."""
        return self.wording.rules(seat)

    def vocabulary(self) -> tuple[str, ...]:
        """Every word of the compact dialect, action names and words of facts included."""
        return self.description.vocabulary

    async def start(self, dice: Dice) -> TreeEpisode:
        """A new episode; its chance draws come from `dice`."""
        return TreeEpisode(self, dice)

    def facts(self, episode: Episode, seat: int) -> tuple[str, ...]:
        """True remarks that `seat` could write about an ended episode of this game, each once, in order."""
        assert isinstance(episode, TreeEpisode)
        return self.description.facts(episode.state, seat)

    def root(self) -> Node:
        """The initial state."""
        return self._root

    def show(self, state: Any, seat: int) -> str:
        """What `seat` sees at `state`, a node of this game; equal texts are one information state."""
        return state.show(seat)  # type: ignore[no-any-return]

    def outcome(self, state: Any, seat: int) -> str:
        """What `seat` is told at `state`, a terminal node of this game."""
        return state.outcome(seat)  # type: ignore[no-any-return]

    def action_name(self, state: Any, action: int) -> str:
        """The word for `action`."""
        return self.description.actions[action]


def _listed(items: tuple[object, ...]) -> str:
    return ", ".join(str(item) for item in items) or "none (the episode has ended or chance moves)"

"""The coroutine that plays one trial, start to end (MAGE, arXiv 2603.03680; LaMer, arXiv 2512.16848)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple, Protocol, cast

from mage.chance import Dice, SeededDice, derive
from mage.errors import GameError
from mage.play.actors import Actor, Facts, match_action
from mage.play.game import Episode, Game, Opponent, Spoken, State, TreeGame, is_won, opened
from mage.play.memory import Adviser, GivenRemark, Memory, Past, Session
from mage.play.records import EpisodeRecord, Result, StopReason, Task, Trial, Turn
from mage.play.scribe import Scribe
from mage.play.soundness import is_number
from mage.play.templates import Prompts, Series, Tip, make_prompts

DiceKind = Literal["deal", "opponent"]


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """Rules of a trial that its task does not fix."""

    reprompts: int = 1
    """How often an illegal action is asked for again in an episode before the agent forfeits it."""
    stop_at_success: bool = False
    """Whether the trial ends with the first episode that is won."""
    farewell: bool = True
    """Whether a memory that learns from every episode is asked about the last one too (in training)."""


DEFAULTS = TrialSettings()


class DiceRoom(Protocol):
    """Gives out the dice of a trial's episodes (from 0). Exact evaluation passes one whose dice enumerate outcomes."""

    def __call__(self, kind: DiceKind, episode: int) -> Dice:
        """The dice that decide the deal, or the opponent's draws, of an episode."""
        ...


class TreeEpisode(Episode, Protocol):
    """An episode of a game tree: opponents play on its state."""

    @property
    def state(self) -> State:
        """The position now."""
        ...


def task_dice(task: Task) -> DiceRoom:
    """The dice of a task, the same for every member of its group.

    Under `replay` every episode has the deal of the first; what the opponent draws is fresh in every episode under
    either restart (as `mage.analysis.exact.recurring` has it).
    """
    replay = task.restart == "replay"
    seed = task.seed
    return lambda kind, episode: SeededDice(_dice_seed(seed, kind, 0 if replay and kind == "deal" else episode))


async def play_trial(
    task: Task,
    member: int,
    *,
    game: Game,
    opponent: Opponent | None,
    actor: Actor,
    memory: Memory,
    settings: TrialSettings = DEFAULTS,
    prompts: Prompts | None = None,
    dice: DiceRoom | None = None,
    given_remark: GivenRemark | None = None,
    aided: bool = True,
) -> Trial:
    """Play all episodes of one task against one stationary opponent, with what `memory` carries between them.

    The agent has `task.seat`, the opponent all others (None in a game of one seat). After each episode but the last
    the agent writes a remark if the memory asks for it; a malformed one is carried as empty. The trial ends early at
    the first success if `settings` say so, or when the context is full: the episode under way is then forfeited.

    prompts: default: those of the game's dialect. dice: default: `task_dice(task)`.
    given_remark: decides which remark is carried instead of the one written (evaluation only).
    aided: whether tips are shown at every turn, where the memory has some; the trial then has an `unaided` twin.
    Raises GameError if task, game and memory do not fit together or the opponent's choice is not legal, ValueError if
    the game has no legal action or no finite return, and what game, opponent or model raise.
    """
    _check(task, game, opponent, memory, given_remark)
    prompts = prompts or make_prompts(game.dialect)
    dice = dice or task_dice(task)
    scribe = Scribe(task, member, actor)
    session = memory.session(task, member, scribe.say)
    advice = session if isinstance(session, Adviser) else None
    if advice and aided:
        scribe.write_unaided()
    tips = advice.tips if advice and aided else None
    table = _Table(game, cast(Opponent, opponent), task.seat, prompts, settings.reprompts, tips)
    series = Series(task.episodes, opponent is not None, task.restart, memory.name)
    rules = game.rules(task.seat)
    # who is shown no tips reads what an agent without a memory reads: as it will where it is measured
    unaided = prompts.system(rules, series._replace(memory="none")) if advice else None
    opening = unaided if unaided is not None and tips is None else prompts.system(rules, series)
    past: list[Past] = []
    stop = StopReason.COMPLETED
    for number in range(task.episodes):
        if number == 0 or memory.fresh:
            scribe.open(opening, unaided)
        first = len(scribe.turns)
        opener = _Opener(prompts, session, past, number + 1, task.episodes)
        async with opened(game, dice("deal", number)) as episode:
            record = await _play_episode(table, episode, dice("opponent", number), scribe, opener)
        played = Past(record, "", tuple(scribe.turns[first:]))
        succeeded = settings.stop_at_success and record.result == "won"
        last = scribe.full or succeeded or number + 1 == task.episodes
        if not last:
            ask = session.ask(number + 1, task.episodes, record, prompts)
        elif advice and settings.farewell and not scribe.full:
            ask = advice.farewell(number + 1, task.episodes, record, prompts)
        else:
            ask = None
        if ask is not None:
            remark = await _reflect(scribe, ask, partial(game.facts, episode, task.seat))
            if given_remark and not (last or scribe.full):
                remark = await given_remark(task, member, number, remark)
            played = played._replace(remark=remark)
        await session.ended(played)
        past.append(played)
        if last or scribe.full:
            stop = StopReason.FIRST_SUCCESS if succeeded and number + 1 < task.episodes else stop
            break
    return scribe.trial(StopReason.CONTEXT_FULL if scribe.full else stop)


class _Opener(NamedTuple):
    """Words the first message of an episode, when it is known what the agent is shown."""

    prompts: Prompts
    session: Session
    past: Sequence[Past]
    number: int
    episodes: int

    async def __call__(self, view: str, legal: tuple[str, ...]) -> str:
        """What is remembered, then the state."""
        head = await self.session.head(self.past, view, self.prompts)
        return self.prompts.start(self.number, self.episodes, head, view, legal)


class _Table(NamedTuple):
    """What stays the same in all episodes of a trial. In a game of one seat no opponent is ever asked to act."""

    game: Game
    opponent: Opponent
    seat: int
    prompts: Prompts
    reprompts: int
    tips: Callable[[Sequence[Turn], str], Awaitable[Sequence[Tip]]] | None
    """What an adviser tells at every turn."""


async def _play_episode(table: _Table, episode: Episode, rolls: Dice, scribe: Scribe, opener: _Opener) -> EpisodeRecord:
    """Both sides move until the episode ends; `opener` words the agent's first message."""
    game, opponent, seat, prompts, reprompts, tips = table
    tree = cast(TreeEpisode, episode)
    spoken = episode if isinstance(episode, Spoken) else None
    first = len(scribe.turns)
    said: str | None = None
    asked_again = forfeited = False
    while (mover := episode.seat) is not None:
        if mover != seat:
            state = tree.state
            chosen = await opponent.act(state, rolls)
            if chosen not in state.actions:
                raise _not_legal(game, opponent, state, chosen)
            await episode.step(cast(TreeGame, game).action_name(state, chosen))
            continue
        view, legal = episode.observe(seat), episode.legal()
        if not legal:
            raise ValueError(f"game {game.name!r} has seat {seat} move where no action is legal; it was shown {view!r}")
        listed = (spoken.grammar(),) if spoken else legal
        if asked_again:
            text = prompts.illegal(said, view, listed)
        elif len(scribe.turns) == first:
            text = await opener(view, listed)
        else:
            text = prompts.turn(view, listed)
        unaided = text
        if tips is not None and (told := await tips(scribe.turns[first:], view)):
            text = prompts.advised(text, told)
        if not scribe.hear(text, "act", unaided):
            forfeited = True
            await episode.forfeit(seat)
            break
        response = await scribe.actor.act(scribe.tokens, legal, scribe.seed())
        said = response.said
        action = spoken.read(said) if spoken and said is not None else match_action(said, legal)
        scribe.note("act", text, response, view, action is not None, action or said)
        asked_again = action is None
        if action is not None:
            await episode.step(action)
        elif reprompts:
            reprompts -= 1
        else:
            forfeited = True
            await episode.forfeit(seat)
            break
    reward = episode.returns()[seat]
    if not is_number(reward):
        raise ValueError(f"game {game.name!r}: the return of seat {seat} is {reward!r}; expected a finite number")
    result: Result = "won" if is_won(episode, seat) else "drawn" if reward == 0 and game.seats > 1 else "lost"
    return scribe.close_episode(reward, result, episode.outcome(seat), forfeited, len(scribe.turns) - first)


def _not_legal(game: Game, opponent: Opponent, state: State, chosen: object) -> GameError:
    legal = ", ".join(f"{action} ({cast(TreeGame, game).action_name(state, action)})" for action in state.actions)
    return GameError(
        f"opponent {opponent.name!r} chose {chosen!r} after history {state.history}, which is not legal; legal: {legal}"
    )


async def _reflect(scribe: Scribe, ask: str, facts: Facts) -> str:
    """The remark written after an episode; empty if it is malformed or there is no room for it."""
    if not scribe.hear(ask, "reflect"):
        return ""
    response = await scribe.actor.reflect(scribe.tokens, facts, scribe.seed())
    scribe.note("reflect", ask, response, "reflect", response.said is not None, response.said)
    return response.said or ""


@lru_cache(maxsize=8192)
def _dice_seed(seed: int, kind: DiceKind, episode: int) -> int:
    return derive(seed, kind, episode)


def _check(task: Task, game: Game, opponent: Opponent | None, memory: Memory, given_remark: GivenRemark | None) -> None:
    if not 0 <= task.seat < game.seats:
        raise GameError(f"seat {task.seat}: {game.name} has seats 0 to {game.seats - 1}")
    if (opponent is None) != (game.seats == 1):
        raise GameError(f"{game.name} has {game.seats} seat(s): opponent {task.opponent!r} does not fit")
    if given_remark and not (memory.fresh and memory.reflects):
        raise GameError(
            f"memory {memory.name!r}: remarks can be exchanged only where nothing else is seen (memory 'reflection')"
        )

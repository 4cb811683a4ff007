"""Memories with a store: who sees what, when it is taken up, what survives."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mage.errors import GameError
from mage.play.memories import make_memory, memory_names
from mage.play.memories.amem import parse_object
from mage.play.memory import Past
from mage.play.records import EpisodeRecord, Task, Turn
from mage.play.templates import MEMORIES_TOLD, make_prompts
from mage.recipe import RecallSection
from mage.recipe_values import MemoryMode

COMPACT, NATURAL = make_prompts("compact"), make_prompts("natural")


def task(group: int = 0) -> Task:
    return Task(group, 0, "random", 3, "redeal", 0)


def past(view: str, said: str, reward: float, outcome: str, remark: str = "") -> Past:
    turn = Turn("act", 0, 0, 0, 1, (0.0,), view, f"<action>{said}</action>", said, view, True)
    return Past(EpisodeRecord(reward, "won" if reward > 0 else "lost", outcome, False, 1), remark, (turn,))


class Scripted:
    """Answers questions in turn and keeps them."""

    def __init__(self, *answers: object) -> None:
        self.answers = [answer if isinstance(answer, str) else json.dumps(answer) for answer in answers]
        self.asked: list[str] = []

    async def __call__(self, question: str, most: int) -> str:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else ""


def head(session: object, view: str = "K first", earlier: tuple[Past, ...] = (), prompts: object = COMPACT) -> str:
    return asyncio.run(session.head(earlier, view, prompts))


def play(session: object, view: str, said: str, reward: float, outcome: str) -> None:
    head(session, view)
    asyncio.run(session.ended(past(view, said, reward, outcome)))


def test_every_name_of_the_recipe_is_a_memory() -> None:
    assert set(memory_names()) == set(MemoryMode.__args__) == set(MEMORIES_TOLD)
    for name in memory_names():
        memory = make_memory(name)
        assert memory.name == name
        assert not memory.lasting
    with pytest.raises(GameError, match="did you mean 'reflexion'"):
        make_memory("reflexions")


class Own:
    name, fresh, reflects, lasting = "own", True, False, False

    def __init__(self, recall: RecallSection) -> None:
        self.recall = recall

    def session(self, task: Task, member: int, say: object) -> object: ...

    def settle(self, kept: object) -> None: ...

    def save(self, folder: object) -> None: ...

    def load(self, folder: object) -> None: ...


def test_a_memory_of_one_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("own_memory")
    module.make, module.memory, module.other = Own, Own(RecallSection()), str
    monkeypatch.setitem(sys.modules, "own_memory", module)
    made = make_memory("own_memory:make", RecallSection(count=7))
    assert (made.memory.recall.count, made.name, made.fresh, made.reflects, made.lasting) == (
        7,
        "own",
        True,
        False,
        False,
    )
    assert make_memory("own_memory:memory").memory is module.memory
    with pytest.raises(GameError, match=r"own_memory:other' made a str; expected a mage\.play\.memory\.Memory"):
        make_memory("own_memory:other")
    module.broken = {}.__getitem__
    with pytest.raises(GameError, match="own_memory:broken': KeyError"):
        make_memory("own_memory:broken")


@pytest.mark.parametrize("step", ["settle", "save", "load"])
def test_what_a_memory_of_one_s_own_raises_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    module, own = ModuleType("own_memory"), Own(RecallSection())
    monkeypatch.setattr(own, step, lambda _: [][1], raising=False)
    module.memory = own
    monkeypatch.setitem(sys.modules, "own_memory", module)
    with pytest.raises(
        GameError, match=rf"trial\.memory 'own_memory:memory': {step} failed: IndexError: .* \(test_shelf"
    ):
        getattr(make_memory("own_memory:memory"), step)(())


def test_memento_shows_what_is_most_alike_and_good_cases_first() -> None:
    session = make_memory("memento", RecallSection(count=2)).session(task(), 0, Scripted())
    assert head(session) == ""
    play(session, "K first", "bet", -2.0, "-2 call")
    play(session, "J second bet", "pass", -1.0, "-1")
    play(session, "K first", "pass", 1.0, "+1 bet")
    text = head(session, "K first", prompts=NATURAL)
    assert "1. K first > pass : +1 bet\n2. K first > bet : -2 call" in text
    assert "J second" not in text
    assert session.ask(1, 3, past("K", "bet", 1.0, "").record, COMPACT) is None


def test_a_trial_sees_its_own_entries_only_and_they_go_with_it() -> None:
    memory = make_memory("memento")
    one, other = memory.session(task(), 0, Scripted()), memory.session(task(), 0, Scripted())  # enumerated trials
    play(one, "K first", "bet", 1.0, "+1")
    assert head(one) != ""
    assert head(other) == ""
    memory.settle({(0, 0)})
    assert head(memory.session(task(), 0, Scripted())) == ""
    assert memory.shelf.store.count() == 0


def test_with_scope_game_entries_are_there_after_settling_in_the_order_of_tasks() -> None:
    found = []
    for order in ((0, 1), (1, 0)):  # whoever is faster
        memory = make_memory("memento", RecallSection(scope="game"))
        assert memory.lasting
        for group in order:
            session = memory.session(task(group), 0, Scripted())
            assert head(session) == ""
            play(session, "K first", f"said{group}", 1.0, "+1")
        memory.settle({(0, 0), (1, 0)})
        found.append(head(memory.session(task(2), 0, Scripted())))
    assert found[0] == found[1] == "note K first > said1 > +1 note K first > said0 > +1".replace("> +1", ": +1")


@pytest.mark.parametrize("scope", ["trial", "game"])
def test_a_trial_adapts_to_what_it_left_itself_before_it_is_settled(scope: str) -> None:
    memory = make_memory("memento", RecallSection(scope=scope, count=3, limit=2))
    if scope == "game":
        play(memory.session(task(0), 0, Scripted()), "K first", "earlier", 1.0, "+1")
        memory.settle({(0, 0)})
    session = memory.session(task(1), 0, Scripted())
    for said in ("one", "two", "three", "three"):
        play(session, "K first", said, 1.0, "+1")
    own = ["three", "two"]  # the newest first, within the limit
    shown = [*own, "earlier"] if scope == "game" else own
    assert head(session) == " ".join(f"note K first > {said} : +1" for said in shown)
    memory.settle({(1, 0)})
    if scope == "game":
        assert head(memory.session(task(2), 0, Scripted())) == " ".join(f"note K first > {said} : +1" for said in own)


def test_what_is_said_again_is_shown_once() -> None:
    memory = make_memory("memento", RecallSection(scope="game"))
    play(memory.session(task(0), 0, Scripted()), "K first", "bet", 1.0, "+1")
    memory.settle({(0, 0)})
    session = memory.session(task(1), 0, Scripted())
    play(session, "K first", "bet", 1.0, "+1")
    assert head(session) == "note K first > bet : +1"


def test_a_trial_that_is_not_kept_leaves_nothing() -> None:
    memory = make_memory("memento", RecallSection(scope="game"))
    for group, member in ((0, 0), (0, 1), (1, 0)):
        play(memory.session(task(group), member, Scripted()), "K first", f"said{group}{member}", 1.0, "+1")
    memory.settle({(0, 1), (1, 0)})  # the last try of (0, 0) failed too
    assert [entry.text[-9:] for entry in memory.shelf.store.entries("all")] == ["aid01 : +1"[1:], "aid10 : +1"[1:]]
    memory.settle({(0, 0)})
    assert memory.shelf.store.count() == 2


def test_a_try_that_failed_leaves_nothing() -> None:
    memory = make_memory("memento", RecallSection(scope="game"))
    play(memory.session(task(), 0, Scripted()), "K first", "first try", 1.0, "+1")
    play(memory.session(task(), 0, Scripted()), "K first", "second try", 1.0, "+1")
    memory.settle({(0, 0)})
    assert head(memory.session(task(1), 0, Scripted())) == "note K first > second try : +1"


def test_reflexion_asks_after_failures_and_keeps_three_plans() -> None:
    memory = make_memory("reflexion")
    session = memory.session(task(), 0, Scripted())
    lost, won = past("K", "bet", -1.0, "-1").record, past("K", "bet", 1.0, "+1").record
    assert session.ask(1, 5, won, NATURAL) is None
    assert "name the mistake" in session.ask(1, 5, lost, NATURAL)
    earlier = tuple(past("K", "bet", -1.0, "-1", remark=plan) for plan in ("one", "two", "", "three", "four"))
    assert head(session, "K", earlier, NATURAL).endswith("1. two\n2. three\n3. four")
    assert head(session, "K", (), NATURAL) == ""


def test_a_mem_describes_links_and_rewrites() -> None:
    say = Scripted(
        {"keywords": ["king"], "context": "It calls.", "tags": ["calling"]},
        {"keywords": ["jack"], "context": "It bets weak hands.", "tags": ["bluff"]},
        'I would link it: {"links": [1, 1, 9, "x"], "rewrite": {"1": {"context": "It calls too often."}, "7": {}}}',
        {"keywords": [], "context": "", "tags": []},
        "no idea",
    )
    memory = make_memory("a-mem", RecallSection(count=1))
    session = memory.session(task(), 0, say)
    play(session, "K first", "bet", 2.0, "you won, it called")
    play(session, "J second bet", "pass", -1.0, "you lost")
    play(session, "Q second", "pass", 1.0, "nothing seen")
    assert len(say.asked) == 3  # the first note has none to be linked to, the last is for the next episode only
    assert "K first\n> bet\nyou won, it called" in say.asked[0]
    assert "1. K first" in say.asked[2]
    # the second note is found by the state and brings the one it links to, as rewritten
    text = head(session, "J second bet", prompts=NATURAL)
    first, second = text.index("J second bet"), text.index("K first")
    assert first < second
    assert "(It calls too often.) [calling]" in text
    assert "(It bets weak hands.) [bluff]" in text
    assert len(say.asked) == 5


def test_a_mem_a_rewritten_note_is_found_by_what_it_says_now() -> None:
    say = Scripted(
        {"keywords": [], "context": "", "tags": []},
        {"keywords": [], "context": "", "tags": []},
        {"links": [], "rewrite": {"1": {"context": "zebra zebra zebra zebra zebra zebra zebra zebra zebra zebra"}}},
    )
    memory = make_memory("a-mem", RecallSection(scope="game", count=1))
    play(memory.session(task(0), 0, say), "K first", "bet", 1.0, "+1")
    memory.settle({(0, 0)})
    play(memory.session(task(1), 0, say), "K second", "bet", 1.0, "+1")
    memory.settle({(1, 0)})
    (corner,) = [memory.shelf.corner(task(2), 0)]
    (found,) = corner.near("zebra")
    assert found.entry.text.startswith("K first")
    assert found.cosine > 0.5


def test_a_mem_links_to_notes_of_the_same_trial_outlive_it() -> None:
    say = Scripted(
        {"keywords": [], "context": "", "tags": []},
        {"keywords": [], "context": "", "tags": []},
        {"links": [1]},
    )
    memory = make_memory("a-mem", RecallSection(scope="game", count=1))
    play(memory.session(task(0), 0, Scripted()), "Q first", "pass", 0.0, "0")
    session = memory.session(task(1), 0, say)
    play(session, "K first", "bet", 1.0, "+1")
    play(session, "J second", "pass", -1.0, "-1")
    memory.settle({(0, 0), (1, 0)})
    _, king, jack = memory.shelf.store.entries("all")
    assert (king.id, jack.links) == (2, (2,))
    text = head(memory.session(task(2), 0, Scripted()), "J second", prompts=NATURAL)
    assert text.index("J second") < text.index("K first")


def test_a_mem_models_say_the_strangest_things() -> None:
    say = Scripted(
        '{"keywords": ["\\ud800"], "context": "\\udfff half", "tags": 7}',
        {"keywords": [], "context": "", "tags": []},
        {"links": ["²", "١", "9" * 5000, True, None, 1.5], "rewrite": {"²": {"context": "no"}, "1": "no"}},
    )
    memory = make_memory("a-mem", RecallSection(scope="game"))
    session = memory.session(task(), 0, say)
    play(session, "K first", "bet", 1.0, "+1")
    play(session, "K first", "pass", 1.0, "+1")
    memory.settle({(0, 0)})
    first, second = memory.shelf.store.entries("all")
    assert (first.more["context"], first.more["keywords"], first.more["tags"]) == ("? half", ["?"], [])
    assert second.links == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("none {", {}),
        ("[1, 2]", {}),
        ('{"a": 1} {"b": 2}', {"a": 1}),
        ('{bad} then {"a": {"b": []}} end', {"a": {"b": []}}),
        ("{" * 2000, {}),
    ],
)
def test_the_first_object_of_an_answer(text: str, found: dict) -> None:
    assert parse_object(text) == found


def test_the_parametric_memento_shows_the_cases_that_helped() -> None:
    """Case "good" was shown before wins, the other, as alike to the state, before losses: it comes first then."""
    memory = make_memory("memento", RecallSection(scope="game", rank="value", count=1, limit=50))
    shelf = memory.shelf
    first = memory.session(task(), 0, Scripted())
    play(first, "K first", "bet", 1.0, "+1 good")
    play(first, "K first", "pass", 1.0, "+1 bad")
    memory.settle({(0, 0)})
    assert "bad" in head(memory.session(task(), 0, Scripted()), "K first")  # the newest, as nothing is known yet
    good, bad = shelf.all()
    for member, (case, reward) in enumerate([(good, 1.0), (bad, -1.0)] * 3):
        session = memory.session(task(), member, Scripted())
        head(session, "K first")
        session.shown = [case]
        play(session, "K first", "bet", reward, f"end {member}")
    memory.settle({(0, member) for member in range(6)})
    assert "good" in head(memory.session(task(), 0, Scripted()), "K first")
    assert shelf.all()[-1].more["shown"] == [["K first", bad.text, True]]


def test_the_parametric_memento_is_the_same_from_a_file(tmp_path: Path) -> None:
    recall = RecallSection(scope="game", rank="value", count=2)
    memory, other = make_memory("memento", recall), make_memory("memento", recall)
    for member in range(4):
        play(memory.session(task(), member, Scripted()), "K first", "bet", (-1.0) ** member, f"end {member}")
        memory.settle({(0, member)})
    memory.save(tmp_path)
    other.load(tmp_path)
    assert head(other.session(task(), 0, Scripted()), "K first") == head(
        memory.session(task(), 0, Scripted()), "K first"
    )


def test_what_goes_the_same_way_again_counts_each_time() -> None:
    """Case "good" was in sight in 9 wins of 10, "bad" in 1 of 10, and episodes go one of two ways."""
    memory = make_memory("memento", RecallSection(scope="game", rank="value", count=1, limit=50))
    first = memory.session(task(), 0, Scripted())
    play(first, "K first", "bet", 1.0, "+1 good")
    play(first, "K first", "pass", 1.0, "+1 bad")
    memory.settle({(0, 0)})
    good, bad = memory.shelf.all()
    for member in range(20):
        session = memory.session(task(), member, Scripted())
        head(session, "K first")
        case = bad if member < 10 else good
        session.shown = [case]
        won = member == 0 or (case is good and member != 10)
        play(session, "K first", "call", 1.0 if won else -1.0, "+1" if won else "-1")
        memory.settle({(0, member)})
    assert sorted(len(case.more.get("shown", ())) for case in memory.shelf.all()) == [0, 1, 10, 10]
    session = memory.session(task(), 0, Scripted())
    head(session, "K first")
    known = session.judge._now()
    at = {case.text: case for case in known.cases}
    worth = [float(known.value(session.judge._pairs([("K first", "K first", text, True)]))[0]) for text in at]
    assert worth[list(at).index(good.text)] > 0.55
    assert worth[list(at).index(bad.text)] < 0.45

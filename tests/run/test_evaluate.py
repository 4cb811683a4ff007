import dataclasses
import json
import math
import shutil

import pytest
from small import POOL, fingerprint, small

from mage.engine.base import Sample
from mage.engine.tiny import tiny_model, tiny_tokenizer
from mage.errors import EngineError, GameError, MageError
from mage.run import checkpoints, contest, exact_play
from mage.run import evaluate as evaluate_module
from mage.run.base_model import tiny_base
from mage.run.evaluate import evaluate, open_trained
from mage.run.folder import RunFolder
from mage.run.scores import Scores
from mage.run.seal import damage

# An agent that always bets wins these amounts: six deals in two seats, by hand.
# conservative: bets and calls with K only; aggressive: bets all, calls with Q, K; intermediate: bets Q, K, calls with K
ALWAYS_BET = {
    # first: bet; J and Q fold (+1, four deals of six), K calls (−2, two deals); second: K bets and is called (−2, two
    # deals); J or Q checks, our bet makes it fold (+1, four deals)
    "conservative": ((4 - 4) / 6, (4 - 4) / 6),
    # first: J folds (+1 twice), else a showdown for 2: we hold J or K against Q, J or Q against K: −2 +2 −2 −2 = −4
    # second: it bets, we call: a showdown for 2 in all six deals: 0
    "aggressive": ((2 - 4) / 6, 0.0),
    # first: J, Q fold (+1 four times), K calls (−2 twice); second: J checks and folds (+1 twice), Q and K bet and are
    # called: we hold J or K against Q, J or Q against K: −2 +2 −2 −2 = −4
    "intermediate": ((4 - 4) / 6, (2 - 4) / 6),
    # never bets, calls everything: a showdown for 2 in all deals, in both seats
    "calling_station": (0.0, 0.0),
    # first: folds half the time (+1), else a showdown for 2 (0 on average); second: bets half the time (showdown),
    # else checks and folds half the time to our bet
    "random": (0.5, 0.25),
}


class Letters:
    """One token per character; messages end with `|`, responses with `.`"""

    def encode(self, text):
        return tuple(map(ord, text))

    system = encode

    def user(self, text):
        return self.encode(f"{text}|")

    def close(self, sampled):
        return (ord("."),)


class Rule:
    """A sampler that answers by a function of what it reads, and counts what it was asked."""

    def __init__(self, action, remark=lambda text: "nothing"):
        self.renderer, self.context_length = Letters(), 10_000
        self.action, self.remark = action, remark
        self.asked = self.computed_tokens = 0
        self.params = set()

    async def sample(self, prompt, params, seed):
        self.asked += 1
        self.params.add(params)
        text = "".join(map(chr, prompt))
        if "</remark>" in params.stop:
            answer = f"<remark>{self.remark(text)}</remark>"
        else:
            answer = f"<action>{self.action(text)}</action>"
        tokens = self.renderer.encode(answer)
        self.computed_tokens += len(prompt) + len(tokens)
        return Sample(tokens, tuple(-0.1 for _ in tokens), "stop", answer)


@pytest.fixture
def agent(monkeypatch, tmp_path):
    """Puts a rule in the model's place; gives a function like `evaluate` without a target."""

    def play(rule, recipe=None, **options):
        monkeypatch.setattr(evaluate_module, "open_trained", lambda path, folder: (rule, None))
        return evaluate(tmp_path, recipe=recipe or small(), **options)

    return play


def always(action):
    return Rule(lambda text: action)


def adaptive():
    """Remembers by how much it won; bets after a win, and with K."""
    return Rule(
        lambda text: "bet" if "note won" in text or " K" in text.split("ep")[-1] else "pass",
        lambda text: "won" if "+" in text else "lost",
    )


def test_exact_payoff_of_an_agent_that_always_bets(agent):
    result = agent(always("bet"))
    assert (result.kind, result.why_not_exact, result.iteration) == ("exact", None, None)
    assert result.pooled.trials == 1296  # 6³ deals, 3 opponents, 2 seats
    assert set(result.opponents) == set(POOL)
    for name, scores in result.opponents.items():
        first, second = ALWAYS_BET[name]
        assert scores.trials == 432
        assert scores.payoff == pytest.approx([(first + second) / 2] * 3)
        assert scores.by_seat[0] == pytest.approx([first] * 3)
        assert scores.by_seat[1] == pytest.approx([second] * 3)
        assert scores.interval == tuple((payoff, payoff) for payoff in scores.payoff)
    mean = sum(sum(ALWAYS_BET[name]) for name in POOL) / 6
    assert result.pooled.payoff == pytest.approx([mean] * 3)
    assert result.pooled.turns == pytest.approx([1.0] * 3)  # no betting comes round to it again
    assert result.pooled.invalid_share == 0
    for episode in range(3):
        shares = [getattr(result.pooled, name)[episode] for name in ("won", "drawn", "lost")]
        assert sum(shares) == pytest.approx(1)
    won = result.pooled.won[0]
    assert result.pooled.pass_at_k == pytest.approx([won, *result.pooled.pass_at_k[1:]])
    assert result.pooled.pass_at_k[0] < result.pooled.pass_at_k[1] < result.pooled.pass_at_k[2]


def test_shares_of_the_population_weigh_the_pool(agent):
    pool = [{"name": "random", "share": 3}, {"name": "aggressive", "share": 1}]
    result = agent(always("bet"), small(population={"train": pool, "held_out": []}, trial={"episodes": 2}))
    expected = (3 * sum(ALWAYS_BET["random"]) + sum(ALWAYS_BET["aggressive"])) / 8
    assert result.pooled.payoff == pytest.approx([expected] * 2)


def test_one_seat(agent):
    result = agent(always("bet"), small(trial={"seats": 1, "episodes": 2}), opponents=["random"])
    assert result.opponents["random"].payoff == pytest.approx([ALWAYS_BET["random"][1]] * 2)
    assert set(result.pooled.by_seat) == {1}


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("restart", ["redeal", "replay"])
def test_all_trials_of_a_pair_are_certain(shuffle, restart, agent, monkeypatch):
    seen = []

    async def watched(*arguments, **named):
        found = await exact_play.exact_trials(*arguments, **named)
        seen.append(found)
        return found

    monkeypatch.setattr(contest, "exact_trials", watched)
    recipe = small(trial={"restart": restart, "episodes": 2})
    agent(adaptive(), recipe, opponents=["random", "cfr:iterations=50", "aggressive"], shuffle_remarks=shuffle)
    (found,) = seen
    assert set(found) == {(name, seat) for name in ("random", "cfr:iterations=50", "aggressive") for seat in (0, 1)}
    for trials in found.values():
        assert math.fsum(probability for probability, _ in trials) == pytest.approx(1, abs=1e-12)
        assert all(probability > 0 for probability, _ in trials)


def test_mixed_opponents_are_enumerated(agent):
    result = agent(always("bet"), small(trial={"episodes": 2}), opponents=["random", "calling_station"])
    assert result.kind == "exact"
    for name, scores in result.opponents.items():
        assert scores.payoff == pytest.approx([sum(ALWAYS_BET[name]) / 2] * 2)
    assert result.opponents["random"].trials == 12**2 + 18**2  # fold or call; bet, or check and fold or call


def agree(sampled: Scores, exact: Scores, level=4.4):
    """Within 4.4 standard errors, which chance alone leaves once in 90,000 times."""
    for payoff, interval, value in zip(sampled.payoff, sampled.interval, exact.payoff, strict=True):
        error = (interval[1] - interval[0]) / 2 / 1.96
        assert error > 0
        assert abs(payoff - value) < level * error


@pytest.mark.parametrize("restart", ["redeal", "replay"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_exact_is_what_many_samples_come_to(shuffle, restart, agent):
    recipe = small(trial={"restart": restart})
    options = {"opponents": ["cfr:iterations=50", "intermediate"], "shuffle_remarks": shuffle}
    exact = agent(adaptive(), recipe, **options)
    sampled = agent(adaptive(), recipe, exact=False, trials=1200, **options)
    assert (exact.kind, sampled.kind, sampled.pooled.trials) == ("exact", "sampled", 2400)
    assert sampled.why_not_exact == "sampling was asked for"
    agree(sampled.pooled, exact.pooled)
    for name in exact.opponents:
        agree(sampled.opponents[name], exact.opponents[name])
    assert sampled.pooled.won == pytest.approx(exact.pooled.won, abs=0.05)
    assert sampled.pooled.turns == pytest.approx(exact.pooled.turns, abs=0.05)


def test_shuffled_remarks_are_those_of_others(agent):
    """Bets; after a fold it goes on betting, after a call it passes. Exact values by hand.

    Betting folds conservative with 2/3 in both seats, aggressive with 1/3 as second player and never as first: of all
    remarks 5/12 tell of a fold. Betting brings 0 and 0 against conservative, −1/3 and 0 against aggressive; passing 0
    and 0 (it bets K: −1 twice; else a showdown for 1 against J or Q: +2), and −1 and −1 (it bets, we fold).
    """
    rule = Rule(
        lambda text: "pass" if "note call" in text else "bet", lambda text: "fold" if "hidden" in text else "call"
    )
    pool = [{"name": "conservative"}, {"name": "aggressive"}]
    recipe = small(population={"train": pool}, trial={"episodes": 2})
    own, others = agent(rule, recipe), agent(rule, recipe, shuffle_remarks=True)
    assert (own.shuffle_remarks, others.shuffle_remarks) == (False, True)
    assert own.pooled.payoff == pytest.approx([(-1 / 3) / 4, (1 / 3 * -1 / 3 + 2 / 3 * -1 - 1) / 4])
    assert others.pooled.payoff == pytest.approx([(-1 / 3) / 4, (5 / 12 * -1 / 3 + 7 / 12 * -1 + 7 / 12 * -1) / 4])
    for shuffle, exact in ((False, own), (True, others)):
        agree(agent(rule, recipe, exact=False, trials=1500, shuffle_remarks=shuffle).pooled, exact.pooled)


@pytest.mark.parametrize("memory", ["history", "none", "history+reflection"])
def test_only_remarks_alone_can_be_shuffled(memory, agent):
    for exact in (None, False):
        with pytest.raises(GameError, match=f"memory '{memory}'".replace("+", r"\+")):
            agent(always("bet"), small(trial={"memory": memory}), shuffle_remarks=True, exact=exact)


def test_a_trial_that_stops_at_success_leaves_gaps(agent):
    """Against a calling station a bet wins or loses: episode 2 is met by who lost, and always winning leaves none."""
    recipe = small(trial={"stop_at_success": True})
    result = agent(always("bet"), recipe, opponents=["calling_station"])
    assert result.opponents["calling_station"].payoff == pytest.approx([0, 0, 0])
    assert result.pooled.pass_at_k == pytest.approx([1 / 2, 3 / 4, 7 / 8])
    sampled = agent(always("bet"), recipe, opponents=["calling_station"], exact=False, trials=400)
    agree(sampled.pooled, result.pooled)
    widths = [high - low for low, high in sampled.pooled.interval]
    assert widths[0] < widths[1] < widths[2]  # on ever fewer trials


def test_shuffled_trials_that_stop_at_success_have_deals_of_their_own(agent):
    """Episode 2 is met by who lost, with a new deal: it may not be the lost deal again."""
    recipe = small(trial={"stop_at_success": True})
    result = agent(always("bet"), recipe, opponents=["calling_station"], shuffle_remarks=True)
    assert result.kind == "exact"
    assert result.pooled.payoff == pytest.approx([0, 0, 0])
    assert result.pooled.pass_at_k == pytest.approx([1 / 2, 3 / 4, 7 / 8])


def test_exact_shuffled_trials_cannot_tell_pass_at_k(agent):
    """Their episodes share one deal, which is right for each episode alone and for nothing over several."""
    for options, known in (({}, 1), ({"exact": False, "trials": 8}, 3)):
        scores = agent(always("bet"), opponents=["calling_station"], shuffle_remarks=True, **options).pooled
        assert [value is not None for value in scores.pass_at_k] == [k < known for k in range(3)]


def test_limits_are_of_trials_that_play_every_episode(agent):
    assert agent(always("bet"), small()).limits is not None
    assert agent(always("bet"), small(trial={"stop_at_success": True})).limits is None


def test_episodes_that_nobody_came_to(agent):
    """All trials stop at their success in the first episode."""
    recipe = small(
        game={"name": "tic_tac_toe"},
        trial={"restart": "replay", "stop_at_success": True, "seats": 0},
        population={"train": [{"name": "random"}], "held_out": []},
    )
    rule = Rule(lambda text: next(cell for cell in ("b2", "a1", "c3", "a3", "c1") if free(text, cell)))
    result = agent(rule, recipe, opponents=["preferred:order=edges_first"])
    row = result.as_dict()["pooled"]
    assert (result.kind, row["trials"], row["payoff"][0]) == ("exact", 1, 1.0)
    for name in ("payoff", "interval", "won", "drawn", "lost", "turns"):
        assert row[name][1:] == (None, None)
    assert row["by_seat"] == {"0": [1.0, None, None]}
    assert row["pass_at_k"] == (1.0, 1.0, 1.0)
    json.dumps(result.as_dict(), allow_nan=False)


def free(text, cell):
    """Whether the board last shown calls the cell by its name: it is empty then."""
    return cell in text.split("|")[-2].split()[-9:]


def test_two_trials_have_an_interval(agent):
    result = agent(always("bet"), opponents=["random"], exact=False, trials=2)
    assert all(high > low for low, high in result.pooled.interval)


def test_an_agent_without_a_legal_answer(agent):
    result = agent(always("fold"))
    assert result.pooled.payoff == (-2.0, -2.0, -2.0)
    assert result.pooled.lost == (1.0, 1.0, 1.0)
    assert result.pooled.invalid_share == pytest.approx(6 / 8)  # asked twice in each episode, and for two remarks


def test_results_are_strict_json(agent):
    for options in ({}, {"exact": False}, {"opponents": ["cfr:iterations=50"]}, {"held_out": True}):
        row = agent(adaptive(), small(trial={"episodes": 2}), **options).as_dict()
        assert json.loads(json.dumps(row, allow_nan=False))["pooled"]["trials"] == row["pooled"]["trials"]
        assert {"kind", "why_not_exact", "target", "iteration", "temperature", "top_p", "top_k"} <= set(row)
        assert {"shuffle_remarks", "actor", "episodes", "restart", "units"} <= set(row)
        assert {"opponents", "pooled", "limits", "invalid_share", "tokens", "seconds"} <= set(row)
        assert row["units"] == "chips per hand"
        assert set(row["pooled"]) == {field.name for field in dataclasses.fields(Scores)}


def test_tokens_are_those_of_the_model(agent):
    rule = always("bet")
    assert agent(rule, exact=False, trials=4).tokens == rule.computed_tokens > 0
    assert agent(rule, actor="random", trials=4).tokens == 0


def test_limits_stand_beside_the_result(agent):
    row = agent(always("bet")).as_dict()["limits"]
    assert row["adaptive_by_episodes"] == pytest.approx([0.1111, 0.2037, 0.2423], abs=1e-4)
    assert row["known"] == pytest.approx(0.2778, abs=1e-4)


def test_held_out_opponents(agent):
    result = agent(always("bet"), small(trial={"episodes": 1}), held_out=True)
    assert set(result.opponents) == {"random"}
    assert result.as_dict()["opponents"]["random"]["held_out"] is True
    assert agent(always("bet")).as_dict()["opponents"]["aggressive"]["held_out"] is False
    with pytest.raises(MageError, match=r"population.held_out is empty"):
        agent(always("bet"), small(population={"train": [{"name": "random"}], "held_out": []}), held_out=True)


def test_opponents_by_name_in_any_spelling(agent):
    recipe = small(trial={"episodes": 1})
    result = agent(always("bet"), recipe, opponents=["cfr", "cfr:iterations=1000", "random"])
    assert list(result.opponents) == ["cfr:iterations=1000", "random"]
    with pytest.raises(GameError, match=r"unknown opponent 'agressive' .did you mean 'aggressive'"):
        agent(always("bet"), opponents=["agressive"])
    with pytest.raises(GameError, match=r"needs .*for kuhn_poker there are"):
        agent(always("bet"), opponents=["minimax"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trials": 1}, "trials = 1: should be greater than or equal to 2"),
        ({"temperature": -0.5}, "temperature = -0.5: should be greater"),
        ({"temperature": float("nan")}, "temperature = nan: should be a finite number"),
    ],
)
def test_options_out_of_range(options, words, agent):
    with pytest.raises(MageError, match=words):
        agent(always("bet"), **options)


def test_temperature_samples(agent):
    result = agent(always("bet"), temperature=0.7)
    assert (result.kind, result.temperature) == ("sampled", 0.7)
    assert result.why_not_exact == "the agent samples its answers (temperature 0.7); exact play is greedy"
    assert result.pooled.trials == 300
    with pytest.raises(MageError, match=r"--exact: the agent samples its answers \(temperature 0.7\)"):
        agent(always("bet"), temperature=0.7, exact=True)


def test_the_recipe_may_ask_for_samples(agent):
    result = agent(always("bet"), small(eval={"exact": False}))
    assert (result.kind, result.why_not_exact) == ("sampled", "sampling was asked for")
    assert agent(always("bet"), small(eval={"exact": False}), exact=True).kind == "exact"


def test_the_actor_samples_as_the_recipe_says(agent):
    rule = always("bet")
    section = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "trials": 2}
    result = agent(rule, small(eval=section, trial={"episodes": 1}))
    assert {(params.temperature, params.top_p, params.top_k) for params in rule.params} == {(0.7, 0.8, 20)}
    assert (result.temperature, result.top_p, result.top_k) == (0.7, 0.8, 20)


def test_the_seed_of_the_tasks(agent):
    one, same, other = (
        agent(always("bet"), exact=False, opponents=["random"], seed=seed) for seed in (None, 1_000_003, 7)
    )
    assert one.pooled == same.pooled
    assert one.pooled != other.pooled


def test_what_cannot_be_enumerated_is_sampled_and_said(agent, capfd):
    recipe = small(
        game={"name": "tic_tac_toe"},
        trial={"restart": "replay"},
        population={"train": [{"name": "preferred"}, {"name": "mcts:simulations=5"}], "held_out": []},
        eval={"trials": 6},
    )
    rule = Rule(lambda text: "b2")
    result = agent(rule, recipe)
    assert (result.kind, result.pooled.trials, result.units) == ("sampled", 12, "points per game")
    assert "uses a generator of its own: it cannot be enumerated" in result.why_not_exact
    assert result.limits is None
    with pytest.raises(MageError, match=r"--exact: the opponent of episode 1 uses a generator of its own"):
        agent(rule, recipe, exact=True)
    assert "Traceback" not in capfd.readouterr().err  # nothing is left behind in the event loop


def test_trees_that_are_too_large(agent, monkeypatch):
    monkeypatch.setattr(exact_play, "LIMIT", 1000)
    result = agent(always("bet"), opponents=["random"])
    assert (result.kind, result.why_not_exact.partition(":")[0]) == (
        "sampled",
        "there are more than 1,000 different trials",
    )


def test_random_play():
    result = evaluate("nowhere", recipe=small(), actor="random", trials=1500)
    assert (result.kind, result.why_not_exact) == (
        "sampled",
        "the random actor has no model whose play could be enumerated",
    )
    assert (result.actor, result.iteration, result.pooled.invalid_share) == ("random", None, 0)
    agree(result.pooled, dataclasses.replace(result.pooled, payoff=(-0.25,) * 3))  # by hand: test_base_model


@pytest.fixture(scope="module")
def evaluated(unbroken):
    before = fingerprint(unbroken)
    result = evaluate(unbroken)
    assert fingerprint(unbroken) == before
    return result


def test_a_run(unbroken, evaluated):
    assert (evaluated.kind, evaluated.iteration, evaluated.target) == ("exact", 4, str(unbroken))
    assert evaluated.pooled.trials == 1296


def test_a_run_under_way_is_evaluated_at_its_newest_checkpoint(unbroken, evaluated, tmp_path):
    recipe = small()
    folder = RunFolder.create(recipe, tmp_path / "run")
    with pytest.raises(MageError, match="has no checkpoint yet"):
        evaluate(folder.path)
    whole = RunFolder.open(unbroken)
    with folder.checkpoint(4) as path:
        for file in whole.latest_checkpoint().path.glob("*.*"):
            if file.name != "checkpoint.json":
                (path / file.name).write_bytes(file.read_bytes())
    result = evaluate(folder.path)
    assert result.iteration == 4
    assert result.pooled == evaluated.pooled


@pytest.mark.parametrize("moment", ["chosen", "listed"])
def test_a_checkpoint_that_training_removes_meanwhile(moment, unbroken, evaluated, tmp_path, monkeypatch):
    """After it was chosen, or while its files are looked at: the next one is there by then."""
    shutil.copytree(unbroken, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    shutil.rmtree(folder.model_path)
    newest, latest, moved = folder.latest_checkpoint().path, checkpoints.latest, tmp_path / "newest"
    newest.rename(moved)
    old = folder.latest_checkpoint().path

    def step():
        if moved.exists():
            shutil.rmtree(old)
            moved.rename(newest)

    def chosen(parent, up_to=None):
        found = latest(parent, up_to)
        step()
        return found

    def looked_at(folder, *arguments, **named):
        step()
        return damage(folder, *arguments, **named)

    if moment == "chosen":
        monkeypatch.setattr(checkpoints, "latest", chosen)
    else:
        monkeypatch.setattr(checkpoints, "damage", looked_at)
    result = evaluate(folder.path)
    assert (result.iteration, result.pooled) == (4, evaluated.pooled)


def test_a_damaged_checkpoint_is_not_tried_for_ever(unbroken, tmp_path):
    shutil.copytree(unbroken, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    shutil.rmtree(folder.model_path)
    for path in folder.checkpoints_path.iterdir():
        (path / "checkpoint.json").unlink()
    with pytest.raises(MageError, match="no checkpoint can be resumed from"):
        evaluate(folder.path)


def test_a_model_folder_needs_a_recipe(unbroken, evaluated, tmp_path):
    model = RunFolder.open(unbroken).model_path
    with pytest.raises(MageError, match="no run folder; to evaluate a model folder, say with --recipe what is played"):
        evaluate(model)
    assert evaluate(model, recipe=small()).pooled == evaluated.pooled
    with pytest.raises(EngineError, match="no model folder"):
        evaluate(tmp_path, recipe=small())


def test_the_base_is_a_model_folder():
    recipe = small()
    result = evaluate(tiny_base(recipe), recipe=recipe)
    assert result.kind == "exact"
    assert result.pooled.invalid_share < 0.01


def test_open_trained_takes_no_pickle(tmp_path):
    tokenizer = tiny_tokenizer(("a",))
    model = tiny_model(len(tokenizer), hidden=8, layers=1, heads=1, architecture="llama", pad_token=0, seed=0)
    model.config.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(EngineError, match="no safetensors file"):
        open_trained(tmp_path, None)


def test_an_oracle_needs_no_model():
    recipe = small(
        game={"name": "sokoban:boxes=1"},
        population={"train": [{"name": "random"}], "held_out": []},
        trial={"restart": "replay", "seats": "both"},
    )
    result = evaluate("nowhere", recipe=recipe, actor="oracle", trials=20)
    assert (result.actor, result.pooled.payoff, result.units) == ("oracle", (1.0,) * 3, "rooms solved per episode")
    with pytest.raises(MageError, match="kuhn_poker has 2 seats: an oracle plays games of one"):
        evaluate("nowhere", recipe=small(), actor="oracle", trials=20)

from pathlib import Path

import pytest

from mage.errors import GameError, RecipeError
from mage.methods import methods
from mage.recipe import Recipe
from mage.recipe_file import parse_recipe, read_recipe
from mage.run.arena import make_arena

SHIPPED = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))
LOOP = (
    "checkpoint_every, failure_share, group_size, groups, iterations, keep_checkpoints, record_trials_every, "
    "temperature"
)


def refusal(data) -> str:
    with pytest.raises(RecipeError) as error:
        parse_recipe(data, "my.toml")
    return str(error.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            {"sed": 1},
            "sed: unknown key; known: actor, credit, engine, eval, game, hybrid, loop, method, name, novelty, optim, "
            "population, recall, seed, strategies, "
            "trackers, trial",
        ),
        ({"loop": {"group": 1}}, f"loop.group: unknown key; known: {LOOP}"),
        ({"loop": {"group-size": 1}}, f"loop.group-size: unknown key; known: {LOOP}"),
        (
            {"population": {"train": [{"name": "random", "weight": 2}]}},
            "population.train.0.weight: unknown key; known: name, share",
        ),
        (
            {"population": {"held_out": [{"name": "cfr"}, {"nam": "random"}]}},
            "population.held_out.1.name: missing in {'nam': 'random'}; "
            "population.held_out.1.nam: unknown key; known: name, share",
        ),
    ],
)
def test_unknown_keys_with_those_that_exist(data, words):
    assert refusal(data) == f"my.toml: {words}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"seed": "3"}, "seed = '3': should be a valid integer"),
        ({"loop": {"groups": True}}, "loop.groups = True: should be a valid integer"),
        ({"loop": {"groups": 4.0}}, "loop.groups = 4.0: should be a valid integer"),
        ({"loop": {"groups": 0}}, "loop.groups = 0: should be greater than or equal to 1"),
        ({"loop": 3}, f"loop = 3: should be a table; known: {LOOP}"),
        ({"loop": [1]}, f"loop = [1]: should be a table; known: {LOOP}"),
        ({"optim": {"lr": "0.1"}}, "optim.lr = '0.1': should be a valid number"),
        ({"optim": {"lr": float("inf")}}, "optim.lr = inf: should be a finite number"),
        ({"optim": {"lr": float("nan")}}, "optim.lr = nan: should be a finite number"),
        ({"optim": {"lr": 0}}, "optim.lr = 0: should be greater than 0"),
        ({"optim": {"beta1": 1.0}}, "optim.beta1 = 1.0: should be less than 1"),
        ({"credit": {"gamma_traj": 1.5}}, "credit.gamma_traj = 1.5: should be less than or equal to 1"),
        ({"credit": {"baseline": "group"}}, "credit.baseline = 'group': should be a list"),
        (
            {"credit": {"baseline": ["group", "deal"]}},
            "credit.baseline.1 = 'deal': should be 'group', 'opponent', 'seat', 'episode' or 'anchor'",
        ),
        ({"trial": {"stop_at_success": "yes"}}, "trial.stop_at_success = 'yes': should be a valid boolean"),
        ({"trial": {"stop_at_success": 1}}, "trial.stop_at_success = 1: should be a valid boolean"),
        (
            {"trial": {"memory": "diary"}},
            "trial.memory = 'diary': should be 'history', 'reflection', 'history+reflection', 'none', 'reflexion', "
            "'a-mem', 'memento', 'strategies' or 'tips', or should be a reference module:attribute",
        ),
        ({"trial": {"seats": "all"}}, "trial.seats = 'all': should be 'both', or should be a valid integer"),
        ({"trial": {"seats": True}}, "trial.seats = True: should be 'both', or should be a valid integer"),
        ({"trial": {"seats": -1}}, "trial.seats = -1: should be 'both', or should be greater than or equal to 0"),
        ({"population": {"train": []}}, "population.train = []: should have at least 1 item"),
        ({"population": {"train": "random"}}, "population.train = 'random': should be a list"),
        ({"population": {"train": ["random"]}}, "population.train.0 = 'random': should be a table; known: name, share"),
        (
            {"population": {"train": [{"name": "random", "share": 0}]}},
            "population.train.0.share = 0: should be greater than 0",
        ),
        ({"eval": {"trials": 1}}, "eval.trials = 1: should be greater than or equal to 2"),
        ({"trackers": ["mlflow"]}, "trackers.0 = 'mlflow': should be 'tensorboard' or 'wandb'"),
        ({"engine": {"threads": 100_000}}, "engine.threads = 100000: should be less than or equal to 1024"),
        (
            {"engine": {"kind": "local", "model": ""}},
            "engine.model = '': should be the folder of a Transformers model, or be left out",
        ),
        ({"engine": {"kind": "local"}}, "engine.kind = 'local' needs engine.model: the folder of a Transformers model"),
        (
            {"credit": {"baseline": ["group", "seat", "group"]}},
            "credit.baseline = ['group', 'seat', 'group']: should name each key once",
        ),
        ({"credit": {"reward_scale": 1e308}}, "credit.reward_scale = 1e+308: should be less than or equal to 1000000"),
        (
            {"credit": {"invalid_penalty": 1e7}},
            "credit.invalid_penalty = 10000000.0: should be less than or equal to 1000000",
        ),
        ({"optim": {"lr": 1e30}}, "optim.lr = 1e+30: should be less than or equal to 10"),
        ({"optim": {"entropy": 1e300}}, "optim.entropy = 1e+300: should be less than or equal to 1000000"),
        ({"optim": {"clip_low": 1e300}}, "optim.clip_low = 1e+300: should be less than or equal to 1000"),
        ({"optim": {"kl_action_end": -1}}, "optim.kl_action_end = -1: should be greater than or equal to 0"),
        ({"loop": {"temperature": 1e-300}}, "loop.temperature = 1e-300: should be greater than or equal to 0.01"),
        ({"loop": {"temperature": 200}}, "loop.temperature = 200: should be less than or equal to 100"),
        ({"eval": {"temperature": 1e-300}}, "eval.temperature = 1e-300: should be 0 (greedy) or at least 0.01"),
        ({"name": 3}, "name = 3: should be a valid string"),
        ({"method": 3}, "method = 3: should be a valid string"),
        (
            {"seed": "x", "loop": {"groups": 0}},
            "seed = 'x': should be a valid integer; loop.groups = 0: should be greater than or equal to 1",
        ),
    ],
)
def test_values_that_are_not_accepted(data, words):
    assert refusal(data) == f"my.toml: {words}"


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden", "-flag", "a\0b", "a\nb"])
def test_a_name_is_that_of_a_folder(name):
    assert f"name = {name!r}: should be the name of a folder" in refusal({"name": name})
    assert parse_recipe({"name": "Kühn 2.0_a+b-c"}, "my.toml").name == "Kühn 2.0_a+b-c"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            {"loop": {"group_size": 1}},
            "loop.group_size = 1 leaves nothing to compare: a baseline keyed by 'group' needs at least 2",
        ),
        (
            {"loop": {"group_size": 1}, "credit": {"advantage": "rloo", "baseline": ["opponent"]}},
            "credit.advantage = 'rloo' needs loop.group_size of at least 2",
        ),
        (
            {"population": {"train": [{"name": "cfr"}], "held_out": [{"name": "random"}, {"name": "cfr"}]}},
            "population.held_out has 'cfr', which is in population.train: it would be seen",
        ),
        (
            {"loop": {"groups": 10}, "optim": {"minibatches": 4}},
            "optim.minibatches = 4 does not divide loop.groups = 10",
        ),
        (
            {"engine": {"hidden": 60, "heads": 4}},
            "engine.hidden = 60 must be a multiple of 2 · engine.heads = 8",
        ),
        ({"engine": {"kind": "local"}}, "engine.kind = 'local' needs engine.model: the folder of a Transformers model"),
        (
            {"game": {"dialect": "natural"}},
            "engine.kind = 'tiny' reads game.dialect = 'compact' only, not 'natural'",
        ),
    ],
)
def test_combinations_that_cannot_be(data, words):
    assert refusal(data) == f"my.toml: {words}"


def test_a_group_of_one_needs_no_group_baseline():
    recipe = parse_recipe({"loop": {"group_size": 1}, "credit": {"baseline": ["opponent", "episode"]}}, "my.toml")
    assert recipe.loop.group_size == 1


def test_an_unknown_method():
    words = "method = 'mag': unknown method 'mag' (did you mean 'mage'?); known: a-mem, empo2, gigpo, grpo, lamer, mage"
    assert words in refusal({"method": "mag"})


def test_the_method_fills_in_what_the_recipe_leaves_open():
    lamer = parse_recipe({"method": "lamer"}, "my.toml")
    assert (lamer.credit.returns, lamer.trial.memory, lamer.credit.gamma_traj) == ("cumulative", "reflection", 0.6)
    mine = parse_recipe({"method": "lamer", "credit": {"returns": "final"}, "trial": {"episodes": 5}}, "my.toml")
    assert (mine.credit.returns, mine.credit.advantage) == ("final", "gigpo")
    assert (mine.trial.memory, mine.trial.episodes) == ("reflection", 5)
    assert parse_recipe({}, "my.toml") == parse_recipe({"method": "mage"}, "my.toml")


def test_grpo_divides_by_the_standard_deviation_or_is_not_grpo():
    assert parse_recipe({"credit": {"advantage": "grpo"}}, "my.toml").credit.std
    assert not parse_recipe({"credit": {"advantage": "reinforce"}}, "my.toml").credit.std
    for recipe in ({"credit": {"advantage": "grpo", "std": False}}, {"method": "grpo", "credit": {"std": False}}):
        with pytest.raises(RecipeError, match=r"credit.std = false does not fit; .* it is 'reinforce'"):
            parse_recipe(recipe, "my.toml")


@pytest.mark.parametrize("method", [method.name for method in methods() if method.kind != "peers"])
def test_a_resolved_recipe_is_read_back_as_it_was(method):
    recipe = parse_recipe({"method": method, "trial": {"episodes": 2}}, "my.toml")
    assert parse_recipe(recipe.model_dump(mode="json"), "my.toml") == recipe


def test_a_recipe_does_not_change():
    recipe = Recipe()
    with pytest.raises(ValueError, match="frozen"):
        recipe.loop.groups = 3


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('name = "mine"\nseed = 4\n\n[loop]\niterations = 7\n\n[population]\ntrain = [{ name = "cfr" }]\n')
    return path


def test_overrides_come_last(file):
    overrides = [
        "seed=9",
        "loop.groups = 32",
        "optim.lr=1e-2",
        "trial.stop_at_success=true",
        "trial.memory=history",
        'name="other"',
        'population.train=[{name = "random", share = 2}]',
        "credit.baseline=['group']",
        "loop.groups=16",
    ]
    recipe = read_recipe(file, overrides)
    assert (recipe.seed, recipe.loop.groups, recipe.loop.iterations, recipe.name) == (9, 16, 7, "other")
    assert (recipe.optim.lr, recipe.trial.stop_at_success, recipe.trial.memory) == (0.01, True, "history")
    assert [(share.name, share.share) for share in recipe.population.train] == [("random", 2.0)]
    assert recipe.credit.baseline == ("group",)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("seed", "override 'seed': expected key=value, such as loop.iterations=100"),
        ("=3", "override '=3': expected key=value"),
        ("seed.x=3", "override 'seed.x=3': seed is not a section"),
        ("seed=", "seed = '': should be a valid integer"),
        ("seed=three", "seed = 'three': should be a valid integer"),
        ("loop.groups=[1", "loop.groups = '[1': should be a valid integer"),
        ("loop=3", "loop = 3: should be a table"),
        ("lop.groups=3", "lop: unknown key; known: actor, credit, engine"),
        ("loop.group=3", "loop.group: unknown key; known: checkpoint_every"),
        ("loop..groups=3", "loop.: unknown key"),
        ("population.train.0.share=3", "train is not a section"),
        ("method=lamr", "unknown method 'lamr' (did you mean 'lamer'?)"),
    ],
)
def test_overrides_that_cannot_be(override, words, file):
    with pytest.raises(RecipeError) as error:
        read_recipe(file, [override])
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"seed = \n", "my.toml: not a TOML file (Invalid value (at line 1, column 8))"),
        (b"seed = 1\nseed = 2\n", "my.toml: not a TOML file (Cannot overwrite a value"),
        (b"name = '\xff'", "my.toml: not a TOML file ("),
        (b"when = 2020-01-01\n", "when: unknown key"),
        pytest.param(b"a = " + b"[" * 3000 + b"]" * 3000, "my.toml: not a TOML file (", id="deep"),
        pytest.param(b"seed = " + b"9" * 5000, "my.toml: not a TOML file (", id="long number"),
        (b"seed = 2020-01-01\n", "seed = datetime.date(2020, 1, 1): should be a valid integer"),
    ],
)
def test_files_that_are_no_recipe(content, words, tmp_path):
    path = tmp_path / "my.toml"
    path.write_bytes(content)
    with pytest.raises(RecipeError) as error:
        read_recipe(path)
    assert words in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(RecipeError, match=r"nothing.toml: cannot be read \(No such file or directory\)"):
        read_recipe(tmp_path / "nothing.toml")
    with pytest.raises(RecipeError, match=r"cannot be read \(Is a directory\)"):
        read_recipe(tmp_path)


def test_there_are_shipped_recipes():
    assert "kuhn" in [path.stem for path in SHIPPED]


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_shipped_recipes_can_be_played(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MAGE_CACHE_DIR", str(tmp_path))
    recipe = read_recipe(path)
    assert recipe.name == path.stem
    try:
        assert make_arena(recipe).opponents
    except GameError as error:
        if "pip install 'mage-rl[" not in str(error):
            raise
        pytest.skip(str(error))  # its game needs an extra that is not installed
    assert path.read_text().startswith("# ")
    assert f"mage train {path.stem}" in path.read_text()


def test_a_byte_order_mark_is_no_part_of_a_recipe(tmp_path):
    path = tmp_path / "my.toml"
    path.write_bytes(b"\xef\xbb\xbfseed = 3\n")
    assert read_recipe(path).seed == 3


def test_another_method_on_the_command_line_brings_its_own_settings(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('[trial]\nmemory = "reflection"\nepisodes = 2\n[credit]\ngamma_traj = 0.5\n')
    assert read_recipe(path).trial.memory == "reflection"
    grpo = read_recipe(path, ["loop.groups=8", "method=grpo"])
    assert (grpo.method, grpo.trial.memory, grpo.trial.episodes, grpo.credit.advantage) == ("grpo", "none", 2, "grpo")
    assert grpo.credit.gamma_traj == 0.5  # grpo does not say
    assert read_recipe(path, ["method=grpo", "trial.memory=history"]).trial.memory == "history"
    assert read_recipe(path, ["method=mage"]).credit.gamma_traj == 0.5  # its own method: nothing changes
    with pytest.raises(RecipeError, match="did you mean 'grpo'"):
        read_recipe(path, ["method=grop"])


def test_a_value_function_needs_no_group():
    assert parse_recipe({"method": "ppo", "loop": {"group_size": 1}}, "test").loop.group_size == 1
    assert "leaves nothing to compare" in refusal({"method": "grpo", "loop": {"group_size": 1}})


def test_of_several_methods_the_last_one_counts_and_quotes_are_toml(file):
    assert read_recipe(file, ['method="grpo"']) == read_recipe(file, ["method=grpo"])
    assert read_recipe(file, ["method=lamer", "method=ppo"]) == read_recipe(file, ["method=ppo"])
    assert read_recipe(file, ["method=lamer", "method=mage"]) == read_recipe(file)
    with pytest.raises(RecipeError, match="method = 3: should be a valid string"):
        read_recipe(file, ["method=3"])

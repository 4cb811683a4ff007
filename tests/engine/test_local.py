from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mage.engine.base import Engine, SamplingParams
from mage.engine.local import LocalEngine, open_model
from mage.engine.render import ChatRenderer
from mage.engine.tiny import tiny_tokenizer
from mage.errors import EngineError

Build = Callable[..., LocalEngine]


def test_is_an_engine(engine: LocalEngine) -> None:
    assert isinstance(engine, Engine)


def test_saved_folder_opens_with_transformers(engine: LocalEngine, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    engine.save_model(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    text = "a b <action> c </action>"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
    ids = torch.tensor([[1, 10, 11]])
    assert torch.equal(model(ids).logits, engine.model(ids).logits)


def test_opened_engine_samples_the_same(engine: LocalEngine, tmp_path: Path) -> None:
    engine.save_model(tmp_path)
    opened = LocalEngine.open(tmp_path)
    params = SamplingParams(max_tokens=6)
    assert asyncio.run(opened.sample([1, 10], params, 5)) == asyncio.run(engine.sample([1, 10], params, 5))


def test_folders_that_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no config\.json"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EngineError, match="no safetensors"):
        open_model(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(EngineError, match="no safetensors"):
        open_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(EngineError, match="cannot be opened"):
        open_model(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": 3}, r"model\.layers\.2\.\S+ is missing"),
        ({"num_hidden_layers": 1}, r"model\.layers\.1\.\S+ is unexpected"),
        ({"vocab_size": 4}, "cannot be opened"),
        ({"num_attention_heads": 0}, "cannot be opened"),
        ({"num_hidden_layers": "x"}, "cannot be opened"),
    ],
)
def test_weights_of_another_model_than_the_config_are_refused(
    make_engine: Build, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    make_engine().save_model(tmp_path)
    config = tmp_path / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    with pytest.raises(EngineError, match=words):
        open_model(tmp_path)


def test_tiny_dialogue_matches_its_chat_template(engine: LocalEngine) -> None:
    renderer = engine.renderer
    ids = [*renderer.system(""), *renderer.user("a b"), *renderer.encode("<action> c </action>")]
    messages = [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "<action> c </action>"}]
    assert engine.tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False) == ids


CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def chat_tokenizer():  # type: ignore[no-untyped-def]
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(alphabet))}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>"]
    )
    tokenizer.chat_template = CHAT
    return tokenizer


@pytest.mark.parametrize("closed", [True, False])
def test_chat_renderer_spells_what_the_template_spells(closed: bool) -> None:
    tokenizer = chat_tokenizer()
    renderer = ChatRenderer(tokenizer)
    answer = renderer.encode("<action>bet</action>")
    sampled = (*answer, tokenizer.eos_token_id) if closed else answer
    ids = [*renderer.system("rules"), *renderer.user("first"), *sampled, *renderer.close(sampled)]
    ids += renderer.user("second")
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "<action>bet</action>"},
        {"role": "user", "content": "second"},
    ]
    whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert tokenizer.decode(ids) == whole


def test_chat_renderer_needs_a_template() -> None:
    tokenizer = chat_tokenizer()
    tokenizer.chat_template = None
    with pytest.raises(EngineError, match="no chat template"):
        ChatRenderer(tokenizer)
    tokenizer.chat_template = "{% if"
    with pytest.raises(EngineError, match="the chat template cannot be used"):
        ChatRenderer(tokenizer)


def test_tiny_weights_depend_on_the_seed_only(make_engine: Build) -> None:
    torch.manual_seed(1)
    one = make_engine().model.state_dict()
    state = torch.random.get_rng_state()
    two, other = make_engine().model.state_dict(), make_engine(seed=1).model.state_dict()
    assert torch.equal(torch.random.get_rng_state(), state)  # the global generator is left alone
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["lm_head.weight"], other["lm_head.weight"])


def family(kind: type, **options: Any) -> Any:
    """A random model of a family of Transformers."""
    from transformers import AutoModelForCausalLM

    shape = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 128}
    tokens = {"pad_token_id": 0, "bos_token_id": None, "eos_token_id": None}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(kind(**shape, **heads, **tokens, **options)).eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, 0, 0.5)
    return model


def test_a_sliding_window_is_the_longest_context() -> None:
    from transformers import MistralConfig, Qwen2Config

    for kind, options, length in (
        (MistralConfig, {"sliding_window": 6}, 6),
        (MistralConfig, {"sliding_window": None}, 128),
        (Qwen2Config, {"sliding_window": 6, "use_sliding_window": False}, 128),
    ):
        assert LocalEngine(family(kind, **options), tiny_tokenizer(("a",))).context_length == length


def test_a_family_that_scales_its_logits_is_refused() -> None:
    from transformers import CohereConfig, GraniteConfig

    for model in (family(GraniteConfig, logits_scaling=4.0), family(CohereConfig, logit_scale=0.25)):
        with pytest.raises(EngineError, match=f"models of type '{model.config.model_type}' are not supported"):
            LocalEngine(model, tiny_tokenizer(("a",)))

"""The embedded default: a small model of a standard architecture over a game's own words, built here, no download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

TURN = ">"
TAGS = ("<action>", "</action>", "<remark>", "</remark>")
STRATEGY_TAGS = ("<strategy>", "</strategy>")
"""Only in vocabularies of agents that say strategies."""
CONTEXT_LENGTH = 512
_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %} {{ message['content'] }}"
    "{% if message['role'] == 'user' %} " + TURN + "{% endif %}{% endfor %}"
)


def tiny_tokenizer(words: Sequence[str], more_tags: Sequence[str] = ()) -> Any:
    """A fast Transformers tokenizer with one token per word, in the order given; unknown words become `<unk>`."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tags = (*TAGS, *more_tags)
    special = ("<pad>", "<bos>", "<unk>")
    vocabulary = {word: index for index, word in enumerate(dict.fromkeys((*special, TURN, *tags, *words)))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), behavior="removed")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<bos>",
        unk_token="<unk>",
        additional_special_tokens=list(tags),
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def tiny_model(
    vocabulary: int, *, hidden: int, layers: int, heads: int, architecture: str, pad_token: int, seed: int
) -> Any:
    """A Llama or Qwen3 model of Transformers, its weights drawn from a generator of its own.

    Matrices are normal with standard deviation 1/√(inputs) (0.5/√hidden for embeddings), norms start at 1.
    """
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": hidden // heads,
        "max_position_embeddings": CONTEXT_LENGTH,
        "tie_word_embeddings": False,
        "pad_token_id": pad_token,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    with torch.random.fork_rng(devices=[]):  # Transformers draws from the global generator: guard it, then draw anew
        model = (
            Qwen3ForCausalLM(Qwen3Config(**shape))
            if architecture == "qwen3"
            else LlamaForCausalLM(LlamaConfig(**shape))
        )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.fill_(1.0)
            else:
                scale = 0.5 if "embed" in name or "lm_head" in name else 1.0
                parameter.normal_(0.0, scale / parameter.shape[1] ** 0.5, generator=generator)
    return model

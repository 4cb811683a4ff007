"""Dialogue to token ids, piece by piece: what was sampled is appended as it was, never tokenized again."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import TemplateError

from mage.errors import EngineError

_MARK = "\u2063PIECE{}\u2063"


class ChatRenderer:
    """The pieces between messages are read off the model's own chat template, so that every model hears its own form.

    Raises EngineError where the tokenizer has no template, or one that does not show the messages as they are.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise EngineError(f"{tokenizer.name_or_path}: the tokenizer has no chat template, which a dialogue needs")
        self._tokenizer = tokenizer
        self._encode = lru_cache(maxsize=65536)(lambda text: tuple(tokenizer.encode(text, add_special_tokens=False)))
        a, b, c = (_MARK.format(i) for i in range(3))
        dialogue = [{"role": "user", "content": a}, {"role": "assistant", "content": b}, {"role": "user", "content": c}]
        try:
            shown = self._template(dialogue)
        except TemplateError as error:
            raise EngineError(f"{tokenizer.name_or_path}: the chat template cannot be used ({error})") from None
        if not all(mark in shown for mark in (a, b, c)):
            raise EngineError(f"{tokenizer.name_or_path}: the chat template does not show the messages as they are")
        self._header = self._encode(shown.split(c)[1])
        between = shown.split(b)[1].split(c)[0]
        self._between = self._encode(between)
        self._end = self._between[:1]

    def _template(self, messages: list[dict[str, str]]) -> str:
        return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of `text` alone."""
        return self._encode(text)

    def system(self, text: str) -> tuple[int, ...]:
        """Everything before the first user text, the system message (if any) included."""
        user = {"role": "user", "content": _MARK.format(0)}
        messages = [{"role": "system", "content": text.strip()}, user] if text.strip() else [user]
        try:
            shown = self._template(messages)
        except Exception:  # templates raise what they like where they know no system role
            return self._encode(self._template([user]).split(user["content"])[0] + text.strip() + "\n\n")
        return self._encode(shown.split(user["content"])[0])

    def user(self, text: str) -> tuple[int, ...]:
        """The text, the end of the user turn and the header of the assistant's."""
        return self._encode(text.strip()) + self._header

    def close(self, sampled: tuple[int, ...]) -> tuple[int, ...]:
        """The end of the assistant turn (unless it was sampled) and the header of the user's."""
        return self._between[1:] if sampled and sampled[-1:] == self._end else self._between

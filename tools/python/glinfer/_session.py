"""Sessions: sequences of tokens."""
from __future__ import annotations

import os
import weakref
from array import array
from ctypes import byref, c_float, c_int32, c_size_t, c_void_p, create_string_buffer
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from . import _ffi
from ._ffi import Pooling, Prepared, SessionSettings
from ._answer import Answer
from ._library import Handle, call, encode, library, new, read
from ._settings import Settings, make_params

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Messages, Model, Path

ALL = 2**63


class Session(Handle):
    """A sequence of tokens with its KV cache. Settings are the fields of struct glinfer_session_params."""

    def __init__(self, model: Model, **settings: Unpack[SessionSettings]) -> None:
        params = new(_ffi.glinfer_session_params, settings)
        with model._guard:
            self._adopt(model, call(library.glinfer_session_create, model, byref(params)))

    def _adopt(self, model: Model, pointer: int) -> None:
        Handle.__init__(self, model._guard, pointer, library.glinfer_session_destroy)
        self.model = model
        self._answer: Optional[weakref.ReferenceType[Answer]] = None

    def end_answer(self) -> None:
        """Ends the answer in progress, if there is one."""
        answer = self._answer() if self._answer else None
        if answer is not None:
            answer._cut()

    def close(self) -> None:
        """Destroys the session, with its answer."""
        self.end_answer()
        super().close()

    @classmethod
    def _create(cls, model: Model, n: int, settings: Mapping[str, Any]) -> List[Session]:
        params, pointers = new(_ffi.glinfer_session_params, settings), (c_void_p * n)()
        sessions = [cls.__new__(cls) for _ in range(n)]
        with model._guard:
            call(library.glinfer_sessions_create, model, byref(params), n, pointers)
            for session, pointer in zip(sessions, pointers):
                session._adopt(model, pointer)
        return sessions

    def generate(self, prompt: Union[str, Sequence[int]], **settings: Unpack[Settings]) -> Answer:
        """Appends a text or tokens to the session and begins an answer. Ends one in progress."""
        if isinstance(prompt, str):
            prompt = self.model.tokenizer.encode(prompt, bos=len(self) == 0)
        return Answer(self, make_params(prompt, settings))

    def chat(self, messages: Messages, *, tools: Optional[Sequence[Mapping[str, Any]]] = None,
             variables: Optional[Mapping[str, Any]] = None, **settings: Unpack[Settings]) -> Answer:
        """Begins the answer to a conversation, by the model's chat template. Ends one in progress.

        The session keeps the tokens that the conversation begins with, so a prompt is not processed again.
        messages: objects with role and content, or the text of a user. tools and variables: see
        Tokenizer.encode_chat.
        """
        ids = self.model.tokenizer.encode_chat(messages, tools=tools, variables=variables)
        self.end_answer()
        n = self.rewind(min(self.match(ids), len(ids) - 1))
        return Answer(self, make_params(ids[n:], settings))

    def prepare(self, **settings: Unpack[Settings]) -> Prepared:
        """Compiles all programs for such answers and chooses the fastest way to submit them."""
        prepared = new(_ffi.glinfer_prepared)
        with self._guard:
            call(library.glinfer_session_prepare, self, byref(make_params((), settings)), byref(prepared))
        return read(prepared, Prepared)

    def embed(self, ids: Sequence[int], *, pooling: Pooling = Pooling.DEFAULT, is_raw: bool = False) -> array[float]:
        """Returns the embedding of tokens: n_embedding numbers, with Pooling.NONE n_embedding of each token, with
        Pooling.RANK a score of each class. The session loses its tokens."""
        params, n = new(_ffi.glinfer_embed_params, {"pooling": pooling, "is_raw": is_raw}), c_size_t()
        tokens = (c_int32 * len(ids))(*ids)
        with self._guard:
            call(library.glinfer_embed, self, tokens, len(ids), byref(params), None, 0, byref(n))
            values = (c_float * n.value)()
            call(library.glinfer_embed, self, tokens, len(ids), byref(params), values, n, byref(n))
        return array("f", bytes(values))

    def score(self, ids: Sequence[int]) -> array[float]:
        """Returns the log-probability of each token but the first after those before it. The session then has
        these tokens. The perplexity is exp of minus the mean."""
        values = (c_float * max(len(ids) - 1, 0))()
        with self._guard:
            call(library.glinfer_score, self, (c_int32 * len(ids))(*ids), len(ids), values)
        return array("f", bytes(values))

    def __len__(self) -> int:
        """Returns the number of tokens. Ends an answer that is in progress."""
        return self.rewind(ALL)

    def __bool__(self) -> bool:
        return True

    def reset(self) -> None:
        """Drops all tokens. Ends an answer that is in progress."""
        with self._guard:
            self.end_answer()
            library.glinfer_session_reset(self)

    def rewind(self, n: int) -> int:
        """Drops all tokens after the first n. Returns the number that remain. Ends an answer that is in progress."""
        with self._guard:
            self.end_answer()
            remaining: int = library.glinfer_session_rewind(self, n)
        return remaining

    def match(self, ids: Sequence[int]) -> int:
        """Returns the length of the longest common prefix of the ids and the session's tokens."""
        with self._guard:
            n: int = library.glinfer_session_match(self, (c_int32 * len(ids))(*ids), len(ids))
        return n

    def copy_from(self, other: Session, n: int = ALL) -> None:
        """Replaces the tokens by the first n of another session of the model."""
        with self._guard:
            call(library.glinfer_session_copy, self, other, n)

    def save(self, path: Path) -> None:
        """Writes the tokens with their keys and values to a file."""
        with self._guard:
            call(library.glinfer_session_save, self, encode(os.fspath(path)))

    def load(self, path: Path) -> None:
        """Replaces the tokens by those of a saved file."""
        with self._guard:
            call(library.glinfer_session_load, self, encode(os.fspath(path)))

    def dumps(self) -> bytes:
        """Returns what save writes."""
        size = c_size_t()
        with self._guard:
            call(library.glinfer_session_save_memory, self, None, 0, byref(size))
            data = create_string_buffer(size.value)
            call(library.glinfer_session_save_memory, self, data, size, byref(size))
        return data.raw

    def loads(self, data: bytes) -> None:
        """Replaces the tokens by those that dumps returned."""
        with self._guard:
            call(library.glinfer_session_load_memory, self, data, len(data))

    def set_adapter_scales(self, scales: Sequence[float]) -> None:
        """Sets how much each adapter of the model counts in this session."""
        with self._guard:
            call(library.glinfer_session_set_adapter_scales, self, (c_float * len(scales))(*scales), len(scales))

    def cancel(self) -> None:
        """Cancels the call or the answer in progress, which raises Cancelled. May be called from any thread."""
        pointer = self._as_parameter_
        if pointer:
            library.glinfer_session_cancel(pointer)


class Chat:
    """A conversation that remembers its messages."""

    def __init__(self, session: Union[Session, Model], system: Optional[str] = None, **settings: Unpack[Settings]) -> None:
        self.session = session if isinstance(session, Session) else session.session()
        self.messages: List[Mapping[str, Any]] = [{"role": "system", "content": system}] if system else []
        self._settings = settings
        self._answer: Optional[Answer] = None

    def send(self, text: str, **settings: Unpack[Settings]) -> Answer:
        """Begins the answer to a message. The next message follows the text that had come by then."""
        if self._answer is not None:
            self._answer.close()
            self.messages.append({"role": "assistant", "content": self._answer.text})
        self.messages.append({"role": "user", "content": text})
        merged: Settings = {**self._settings, **settings}
        self._answer = self.session.chat(self.messages, **merged)
        return self._answer

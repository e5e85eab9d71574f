"""Models and their tokenizers."""
from __future__ import annotations

import json
import os
from array import array
from ctypes import POINTER, byref, c_float, c_int32, c_size_t, pointer, string_at
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, overload

from . import _ffi
from ._ffi import ChatEnd, ModelInfo, ModelSettings, Pooling, SessionSettings, TokenizeFlags, TranscriptionSettings
from ._device import Device, ProgressFunction
from ._library import Guard, Handle, Progress, call, encode, library, new, read

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

    from ._answer import Answer
    from ._session import Session
    from ._settings import Settings
    from ._speech import Sound, Transcript, Transcription

Path = Union[str, "os.PathLike[str]"]
Messages = Union[str, Sequence[Mapping[str, Any]]]
Texts = Union[List[str], Tuple[str, ...]]
_device: Optional[Device] = None


def default_device() -> Device:
    """Returns the best device, which all models without one of their own share."""
    global _device
    if _device is None or _device._as_parameter_ is None:
        _device = Device()
    return _device


def inspect(path: Path, **settings: Unpack[ModelSettings]) -> ModelInfo:
    """Reads the metadata of a model file and estimates its memory, without a GPU."""
    info = new(_ffi.glinfer_model_info)
    call(library.glinfer_model_inspect, byref(new(_ffi.glinfer_model_params, {"path": path, **settings})), byref(info))
    return read(info, ModelInfo)


class Tokenizer:
    """Text to token ids and back."""

    def __init__(self, path: Path) -> None:
        pointer = call(library.glinfer_tokenizer_load, encode(os.fspath(path)))
        self._owner: Handle = Handle(Guard(), pointer, library.glinfer_tokenizer_destroy)
        self._as_parameter_ = pointer

    @classmethod
    def _of(cls, model: Model) -> Tokenizer:
        tokenizer = cls.__new__(cls)
        tokenizer._owner = model
        tokenizer._as_parameter_ = library.glinfer_model_tokenizer(model)
        return tokenizer

    def encode(self, text: str, *, bos: bool = True, special: bool = True) -> List[int]:
        """Returns the ids of a text. bos: adds the tokens that the file puts around a text. special: a text that
        spells a special token becomes that token."""
        data = text.encode()
        flags = (0 if bos else TokenizeFlags.NO_BOS) | (0 if special else TokenizeFlags.NO_SPECIAL)
        return self._ids(library.glinfer_tokenize, len(data) + 16, data, len(data), flags)

    def encode_pair(self, query: str, text: str) -> List[int]:
        """Returns the ids of a query and a text, as a reranker expects them."""
        a, b = query.encode(), text.encode()
        return self._ids(library.glinfer_tokenize_pair, len(a) + len(b) + 64, a, len(a), b, len(b))

    def encode_chat(self, messages: Messages, *, tools: Optional[Sequence[Mapping[str, Any]]] = None,
                    variables: Optional[Mapping[str, Any]] = None, end: ChatEnd = ChatEnd.ANSWER) -> List[int]:
        """Returns the ids of a conversation by the model's chat template. A text is a message of the user.
        variables: further variables of the template, such as {"enable_thinking": False}."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        data = json.dumps(list(messages))
        chat = new(_ffi.glinfer_chat_json, {
            "messages": data, "tools": json.dumps(list(tools)) if tools else None,
            "variables": json.dumps(dict(variables)) if variables else None, "end": end})
        return self._ids(library.glinfer_chat_tokenize_json, len(data) + 256, byref(chat))

    def token(self, id: int) -> bytes:
        """Returns the bytes of a token, which may be a part of a character."""
        size = c_size_t()
        address = library.glinfer_token_bytes(self, id, byref(size))
        if not address:
            raise IndexError(f"invalid token: {id} is not in the vocabulary")
        return string_at(address, size.value)

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of tokens."""
        return b"".join(map(self.token, ids)).decode(errors="replace")

    @property
    def has_chat(self) -> bool:
        """Whether the file has a chat template that can be used."""
        return bool(library.glinfer_chat_available(self))

    def _ids(self, function: Any, cap: int, *arguments: Any) -> List[int]:
        n = c_size_t(cap)
        while True:
            cap = n.value
            ids = (c_int32 * cap)()
            with self._owner._guard:
                call(function, self, *arguments, ids, cap, byref(n))
            if n.value <= cap:
                return ids[:n.value]


class Model(Handle):
    """A loaded model. Settings are the fields of struct glinfer_model_params in glinfer.h.

    adapters: paths of LoRA adapters, or pairs of a path and a scale.
    """

    def __init__(self, path: Path, *, device: Optional[Device] = None, progress: Optional[ProgressFunction] = None,
                 adapters: Sequence[Union[Path, Tuple[Path, float]]] = (), **settings: Unpack[ModelSettings]) -> None:
        self.device = device or default_device()
        wrapped = Progress(progress)
        params = new(_ffi.glinfer_model_params, {"path": path, **settings})
        params.progress = wrapped.function
        pairs = [item if isinstance(item, tuple) else (item, 1.0) for item in adapters]
        sources = [new(_ffi.glinfer_source, {"path": item[0], "fd": -1}) for item in pairs]
        params.adapters = (POINTER(_ffi.glinfer_source) * len(pairs))(*map(pointer, sources))
        params.adapter_scales = (c_float * len(pairs))(*(item[1] for item in pairs))
        params.n_adapters = len(pairs)
        with self.device._guard:
            loaded = wrapped.call(library.glinfer_model_load, self.device, byref(params))
            super().__init__(self.device._guard, loaded, library.glinfer_model_destroy)
        self.tokenizer = Tokenizer._of(self)
        self._session: Optional[Session] = None  # of generate, chat and embed

    @property
    def info(self) -> ModelInfo:
        """The properties of the model and the memory that it needs."""
        info = new(_ffi.glinfer_model_info)
        with self._guard:
            library.glinfer_model_describe(self, byref(info))
        return read(info, ModelInfo)

    def close(self) -> None:
        """Destroys the model, and its default session."""
        if self._session is not None:
            self._session.close()
        super().close()

    def session(self, **settings: Unpack[SessionSettings]) -> Session:
        """Creates a session: a sequence of tokens of its own."""
        from ._session import Session
        return Session(self, **settings)

    def sessions(self, n: int, **settings: Unpack[SessionSettings]) -> List[Session]:
        """Creates n sessions whose answers decode together."""
        from ._session import Session
        return Session._create(self, n, settings)

    def _default(self) -> Session:
        if self._session is None or self._session._as_parameter_ is None:
            self._session = self.session()
        return self._session

    def generate(self, prompt: Union[str, Sequence[int]], **settings: Unpack[Settings]) -> Answer:
        """Continues a text or tokens, in the model's default session, whose answer in progress ends."""
        session = self._default()
        session.reset()
        return session.generate(prompt, **settings)

    def chat(self, messages: Messages, *, tools: Optional[Sequence[Mapping[str, Any]]] = None,
             variables: Optional[Mapping[str, Any]] = None, **settings: Unpack[Settings]) -> Answer:
        """Answers a conversation, in the model's default session, whose answer in progress ends."""
        return self._default().chat(messages, tools=tools, variables=variables, **settings)

    @overload
    def embed(self, texts: str, *, pooling: Pooling = ..., is_raw: bool = ...) -> array[float]: ...
    @overload
    def embed(self, texts: Texts, *, pooling: Pooling = ..., is_raw: bool = ...) -> List[array[float]]: ...

    def embed(self, texts: Union[str, Texts], *, pooling: Pooling = Pooling.DEFAULT,
              is_raw: bool = False) -> Union[array[float], List[array[float]]]:
        """Returns the embedding of a text, or a list of those of several. is_raw: not scaled to length 1."""
        session = self._default()
        if isinstance(texts, str):
            return session.embed(self.tokenizer.encode(texts), pooling=pooling, is_raw=is_raw)
        return [session.embed(self.tokenizer.encode(text), pooling=pooling, is_raw=is_raw) for text in texts]

    def embed_array(self, texts: Texts, *, pooling: Pooling = Pooling.DEFAULT,
                    is_raw: bool = False) -> numpy.ndarray[Any, Any]:
        """Returns the embeddings of texts as a numpy array (n_texts, n_embedding) of float32."""
        import numpy
        return numpy.stack([numpy.asarray(row) for row in self.embed(texts, pooling=pooling, is_raw=is_raw)])

    def rank(self, query: str, texts: Sequence[str]) -> List[float]:
        """Returns how well each text answers the query, by a reranker: the first score of each."""
        session = self._default()
        return [session.embed(self.tokenizer.encode_pair(query, text), pooling=Pooling.RANK)[0] for text in texts]

    def transcription(self, vad: Optional[Path] = None, **settings: Unpack[TranscriptionSettings]) -> Transcription:
        """Creates a transcription, which is fed sound. The model is a Whisper model."""
        from ._speech import Transcription
        return Transcription(self, vad, **settings)

    def transcribe(self, sound: Sound, vad: Optional[Path] = None,
                   **settings: Unpack[TranscriptionSettings]) -> Transcript:
        """Returns the text of a sound: a WAV file, or samples from -1 to 1, 16000 a second. vad: the file of a
        network that finds speech."""
        from ._speech import transcribe
        with self.transcription(vad, **settings) as transcription:
            return transcribe(transcription, sound)


def load(path: Path, *, device: Optional[Device] = None, progress: Optional[ProgressFunction] = None,
         adapters: Sequence[Union[Path, Tuple[Path, float]]] = (), **settings: Unpack[ModelSettings]) -> Model:
    """Loads a model, onto the best device if none is given."""
    return Model(path, device=device, progress=progress, adapters=adapters, **settings)

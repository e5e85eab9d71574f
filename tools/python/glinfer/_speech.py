"""Speech to text."""
from __future__ import annotations

import asyncio
import os
import sys
import wave
from array import array
from ctypes import byref, c_float, c_int, pointer, string_at
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Sequence, Tuple, Union, cast

from . import _ffi
from ._ffi import SPEECH_RATE, TranscriptionSettings, TranscriptionState, TranscriptKind
from ._library import Handle, call, library, new

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model, Path

Sound = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Sequence[float], Any]
STEP_US = 8_000
WAIT_S = 0.01


class Word(NamedTuple):
    """A word of a segment, with the setting has_words."""

    text: str
    start: float  # seconds
    end: float
    probability: float


class Segment(NamedTuple):
    """A piece of text with its place in the sound."""

    kind: TranscriptKind  # SEGMENT, or with is_live PARTIAL, which the next event replaces
    text: str
    start: float  # seconds
    end: float
    words: Tuple[Word, ...]
    average_logprob: float
    no_speech: float  # probability that there is no speech
    temperature: float


class Transcript(NamedTuple):
    """The text of a whole sound."""

    text: str
    language: Optional[str]  # code of the language that was detected
    segments: Tuple[Segment, ...]


def read_wav(path: Any) -> array[float]:
    """Returns the samples of a WAV file of 16 bits and 16000 samples a second, its channels averaged."""
    try:
        with wave.open(os.fspath(path), "rb") as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            frames = array("h")
            if width == 2:
                frames.frombytes(file.readframes(file.getnframes()))
    except (wave.Error, EOFError) as error:
        raise ValueError(f"cannot read {path}: {error}") from None
    if width != 2 or rate != SPEECH_RATE:
        raise ValueError(f"cannot read {path}: it has {8 * width} bits at {rate} Hz, not 16 bits at {SPEECH_RATE} Hz; "
                         f"convert it by: ffmpeg -i {path} -ar {SPEECH_RATE} -c:a pcm_s16le out.wav")
    if sys.byteorder == "big":
        frames.byteswap()
    scale = 1 / (32768 * channels)
    return array("f", [sum(frames[i:i + channels]) * scale for i in range(0, len(frames), channels)])


def samples_of(sound: Sound) -> Any:
    """Returns a sound as a C array of floats. Buffers of 16-bit integers are scaled."""
    if isinstance(sound, (str, os.PathLike)):
        sound = read_wav(sound)
    try:
        view: Any = memoryview(cast(Any, sound))
    except TypeError:
        view = memoryview(array("f", sound))
    if view.ndim != 1:
        raise ValueError(f"invalid sound: it has {view.ndim} dimensions, not 1")
    if view.format in ("B", "b", "c"):
        raise ValueError("invalid sound: bytes have no type; use array.array or numpy.frombuffer")
    if view.format in ("h", "<h"):
        view = memoryview(array("f", [value / 32768 for value in view.tolist()]))
    elif view.format not in ("f", "<f") or not view.c_contiguous:
        view = memoryview(array("f", view.tolist()))
    return (c_float * len(view)).from_buffer_copy(view)


class Transcription(Handle):
    """Turns sound into text while it comes: feed samples, iterate for segments.

    Settings are the fields of struct glinfer_transcription_params. for reads all segments after end; async for
    waits for more sound until end.
    """

    def __init__(self, model: Model, vad: Optional[Path] = None, **settings: Unpack[TranscriptionSettings]) -> None:
        self.model = model
        params = new(_ffi.glinfer_transcription_params, {**_ffi.SPEECH_DEFAULTS, **settings})
        if vad is not None:
            params.vad = pointer(new(_ffi.glinfer_source, {"path": vad, "fd": -1}))
        with model._guard:
            created = call(library.glinfer_transcription_create, model, byref(params))
            super().__init__(model._guard, created, library.glinfer_transcription_destroy)
        self.language: Optional[str] = None  # code of the language that was detected

    def feed(self, sound: Sound) -> None:
        """Appends samples from -1 to 1, 16000 a second."""
        samples = samples_of(sound)
        with self._guard:
            call(library.glinfer_transcription_feed, self, samples, len(samples))

    def end(self) -> None:
        """Ends the sound."""
        with self._guard:
            library.glinfer_transcription_end(self)

    def cancel(self) -> None:
        """Drops the sound that is not transcribed."""
        with self._guard:
            library.glinfer_transcription_cancel(self)

    def reset(self) -> None:
        """Drops everything: another sound may begin."""
        with self._guard:
            library.glinfer_transcription_reset(self)

    @property
    def time(self) -> float:
        """The seconds of sound that are done."""
        with self._guard:
            ms: int = library.glinfer_transcription_time(self)
        return ms / 1000

    def step(self, budget_us: int) -> TranscriptionState:
        """Works for about budget_us microseconds; 0: until more sound is needed or all text has come."""
        state = c_int()
        with self._guard:
            call(library.glinfer_transcription_step, self, budget_us, byref(state))
        return TranscriptionState(state.value)

    def poll(self) -> Optional[Segment]:
        """Returns the oldest segment, None if there is none yet."""
        event = _ffi.glinfer_transcript_event()
        with self._guard:
            while library.glinfer_transcription_poll(self, byref(event)):
                if event.kind == TranscriptKind.LANGUAGE:
                    self.language = event.language.decode()
                elif event.kind in (TranscriptKind.SEGMENT, TranscriptKind.PARTIAL):
                    return read_segment(event)
        return None

    def __iter__(self) -> Transcription:
        return self

    def __next__(self) -> Segment:
        while True:
            segment = self.poll()
            if segment is not None:
                return segment
            if self.step(10 * STEP_US) != TranscriptionState.WORKS:
                segment = self.poll()
                if segment is None:
                    raise StopIteration
                return segment

    def __aiter__(self) -> Transcription:
        return self

    async def __anext__(self) -> Segment:
        while True:
            state = self.step(STEP_US)
            segment = self.poll()
            if segment is not None:
                return segment
            if state == TranscriptionState.DONE:
                raise StopAsyncIteration
            await asyncio.sleep(0 if state == TranscriptionState.WORKS else WAIT_S)


def read_segment(event: Any) -> Segment:
    data: bytes = string_at(event.text, event.size)
    words: List[Word] = []
    for word in event.words[:event.n_word]:
        text = data[word.text_begin:word.text_end].decode(errors="replace")
        words.append(Word(text, word.from_ms / 1000, word.to_ms / 1000, word.probability))
    return Segment(TranscriptKind(event.kind), data.decode(errors="replace"), event.from_ms / 1000, event.to_ms / 1000,
                   tuple(words), event.average_logprob, event.no_speech, event.temperature)


def transcribe(transcription: Transcription, sound: Sound) -> Transcript:
    """Feeds a whole sound and returns its text."""
    transcription.feed(sound)
    transcription.end()
    segments = tuple(segment for segment in transcription if segment.kind == TranscriptKind.SEGMENT)
    return Transcript("".join(segment.text for segment in segments).strip(), transcription.language, segments)

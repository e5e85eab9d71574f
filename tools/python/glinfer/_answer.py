"""Answers: iterators of tokens."""
from __future__ import annotations

import asyncio
import json
import time
import weakref
from collections import deque
from ctypes import byref, string_at
from functools import partial
from typing import TYPE_CHECKING, Any, Deque, List, NamedTuple, Optional, Tuple, Union

from ._ffi import EventKind, Stats, Stop
from ._library import Error, Progress, library, make_invalid, read

if TYPE_CHECKING:
    from ._session import Session

STEP_US = 100_000  # of an iteration that may block
ASYNC_STEP_US = 2_000  # of one in an event loop
TOKEN, PROMPT = int(EventKind.TOKEN), int(EventKind.PROMPT)


class Prob(NamedTuple):
    """The probability of a token, over the whole vocabulary before any sampler."""

    id: int
    logprob: float  # natural logarithm


class Token(str):
    """The text that a token completes, which may be empty."""

    id: int  # -1: text that was held back until the end of the answer
    probs: Tuple[Prob, ...] = ()  # n_probs of them, the most likely first


class Answer:
    """An answer while it is generated: iterate it for tokens, by for or by async for.

    It continues only while an answer of its device is iterated, or Device.step is called. close, or the end of
    the last reference, ends it early; the session keeps the tokens that came. So does another call of its session,
    such as a second answer: iterating this one then raises InvalidArgumentError.
    """

    def __init__(self, session: Session, params: Any) -> None:
        self.session = session
        self._params = params  # of resume
        self.ids: List[int] = []  # of the tokens so far
        self.stats: Optional[Stats] = None  # at the end, also after a failure
        self.prompt_progress = (0, 0)  # tokens of the prompt that are processed, and all
        self._parts: List[str] = []
        self._queue: Deque[Union[Token, Error]] = deque()
        self._device = session.model.device
        self._key = session._as_parameter_ or 0
        self._is_done = True
        self._is_cut = False  # by its session
        self._slice_end = 0.0  # of a coroutine
        self._progress = Progress()  # steps call it
        params.progress = self._progress.function
        with session._guard:
            session.end_answer()
            self._progress.call(library.glinfer_begin, session, byref(params))
            self._is_done = False
            session._answer = self._device._answers[self._key] = weakref.ref(self)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    @property
    def stop(self) -> Optional[Stop]:
        """The reason why the answer ended; None before its end."""
        return self.stats.stop if self.stats else None

    def read(self) -> str:
        """Generates the rest and returns the whole text."""
        for _ in self:
            pass
        return self.text

    async def read_async(self) -> str:
        """Generates the rest within an event loop and returns the whole text."""
        async for _ in self:
            pass
        return self.text

    def json(self) -> Any:
        """Generates the rest and returns the text as the object that its JSON stands for."""
        text = self.read()
        try:
            return json.loads(text)
        except ValueError as error:
            if self.stop not in (Stop.LIMIT, Stop.CONTEXT):
                raise
            n = len(self.ids)
            raise ValueError(f"cannot parse the answer: it ended at a limit, after {n} tokens: {error}; raise n_predict") from None

    def resume(self) -> Answer:
        """Continues this answer of its session, which failed or was closed, with its settings. Returns an answer whose
        ids and text are those that are new."""
        self._params.resume = True
        return Answer(self.session, self._params)

    def close(self) -> None:
        """Ends the answer."""
        with self.session._guard:
            self.__del__()

    def __del__(self) -> None:
        if not self._is_done:
            self._finish()
            if self.session._finalizer.alive:  # the garbage collector may have destroyed the session before
                self.session._guard.run(partial(library.glinfer_end, self._key))

    def __iter__(self) -> Answer:
        return self

    def __next__(self) -> Token:
        while not self._queue:
            if self._is_done:
                raise self._end() or StopIteration
            if not self._step(STEP_US):
                self._device._wait()
        return self._next()

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> Token:
        while not self._queue:
            if self._is_done:
                raise self._end() or StopAsyncIteration
            now = time.monotonic()
            if now > self._slice_end:
                await asyncio.sleep(0)  # others of the event loop have their turn
                self._slice_end = now + ASYNC_STEP_US / 1e6
            elif not self._step(ASYNC_STEP_US):
                await self._device._wait_async()
        return self._next()

    def _cut(self) -> None:
        self._is_cut = self._is_cut or not self._is_done
        self.close()

    def _end(self) -> Optional[Error]:
        return make_invalid("cannot continue the answer: another call of its session ended it; Model.sessions "
                            "creates sessions for several answers") if self._is_cut else None

    def _step(self, budget_us: int) -> bool:
        with self.session._guard.lock:  # another thread may just have stepped this answer
            return bool(self._queue) or self._is_done or self._device.step(budget_us)

    def _next(self) -> Token:
        item = self._queue.popleft()
        if isinstance(item, Error):
            raise item
        return item

    def _receive(self, kind: int, event: Any) -> None:
        if kind == TOKEN:
            token = event.token.contents
            size, id = token.text_size, token.id
            text = Token(string_at(token.text, size).decode()) if size else Token()
            text.id = id
            if token.n_probs:
                text.probs = tuple(Prob(p.id, p.logprob) for p in token.probs[:token.n_probs])
            if id >= 0:
                self.ids.append(id)
            self._parts.append(text)
            self._queue.append(text)
        elif kind == PROMPT:
            self.prompt_progress = event.done, event.total
        else:
            self._finish(event)

    def _fail(self, error: Error, event: Any) -> None:
        self._queue.append(error)
        self._finish(event)

    def _finish(self, event: Any = None) -> None:
        self._is_done = True
        if self._device._answers.get(self._key) is self.session._answer:
            self._device._answers.pop(self._key, None)
        if event is not None and event.stats:
            self.stats = read(event.stats.contents, Stats)

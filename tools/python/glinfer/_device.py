"""Devices: GPUs, or software renderers."""
from __future__ import annotations

import asyncio
import select
import warnings
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from . import _ffi
from ._ffi import DeviceInfo, DeviceRates, DeviceSettings, EventKind, LogLevel, Phase
from ._library import Guard, Handle, Progress, call, library, make_error, new, read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._answer import Answer

ProgressFunction = Callable[[Phase, int, int], Optional[bool]]
NONE = int(EventKind.NONE)


def devices(**settings: Unpack[DeviceSettings]) -> List[DeviceInfo]:
    """Returns all devices, the best first; refusal says why one cannot be used."""
    found: List[DeviceInfo] = []
    each = _ffi.PROTOTYPES["glinfer_device_list"][1][1]
    library.glinfer_device_list(byref(new(_ffi.glinfer_device_params, settings)),
                                each(lambda _, info: found.append(read(info.contents, DeviceInfo))), None)
    return found


class Device(Handle):
    """An opened GPU. Settings are the fields of struct glinfer_device_params in glinfer.h.

    allow_software False refuses a renderer that runs on the CPU; by default one is used, with a warning.
    log receives the lines of the library's log. Threads may share a device: they take turns.
    """

    def __init__(self, *, log: Optional[Callable[[LogLevel, str], None]] = None,
                 **settings: Unpack[DeviceSettings]) -> None:
        def write(_: Any, level: int, message: bytes) -> None:
            if log is not None:
                log(LogLevel(level), message.decode(errors="replace"))

        params = new(_ffi.glinfer_device_params, {"allow_software": True, **settings})
        params.log = _ffi.glinfer_log_fn(write if log else 0)
        super().__init__(Guard(params.log), call(library.glinfer_device_create, byref(params)), library.glinfer_device_destroy)
        self._answers: Dict[int, weakref.ReferenceType[Answer]] = {}  # by session
        self._event = new(_ffi.glinfer_event)
        self._error = _ffi.glinfer_error()
        self._event_pointer, self._error_pointer = byref(self._event), byref(self._error)
        self._readable: Optional[asyncio.Future[None]] = None
        if "allow_software" not in settings and self.info.is_software:
            warnings.warn(f"{self.info.renderer} runs on the CPU, which is slow", RuntimeWarning, stacklevel=2)

    @property
    def info(self) -> DeviceInfo:
        """The name of the device, its limits and its quirks."""
        info = new(_ffi.glinfer_device_info)
        with self._guard:
            library.glinfer_device_describe(self, byref(info))
        return read(info, DeviceInfo)

    def measure(self) -> DeviceRates:
        """Measures the peak rates of the device, in less than a second."""
        rates = new(_ffi.glinfer_device_rates)
        with self._guard:
            call(library.glinfer_device_measure, self, byref(rates))
        return read(rates, DeviceRates)

    def recover(self, progress: Optional[ProgressFunction] = None) -> None:
        """Recovers the device, its models and its sessions after GPU_LOST or GPU_FAULT."""
        wrapped = Progress(progress)
        with self._guard:
            wrapped.call(library.glinfer_device_recover, self, wrapped.function, None)

    def step(self, budget_us: int) -> bool:
        """Continues the answers of the device for about budget_us microseconds.

        Returns whether something happened. If not, call again when fileno() is readable. Answers keep their
        tokens and failures until they are iterated. Raises InvalidArgumentError if no answer is in progress.
        """
        event = self._event
        with self._guard.lock:
            ok = library.glinfer_step(self._as_parameter_, budget_us, self._event_pointer, self._error_pointer)
            kind = event.kind
            if ok and kind == NONE:
                return False
            reference = self._answers.get(event.session)
            answer = reference() if reference else None
            if not ok:
                exception = make_error(self._error)
                if answer is None:
                    raise exception
                answer._fail(exception, event)
            elif answer is not None:
                answer._receive(kind, event)
        if self._readable is not None:
            self._wake()  # the event may be of an answer that a coroutine waits for
        return True

    def fileno(self) -> int:
        """Returns a descriptor that is readable when step has work, for select and its like."""
        error = _ffi.glinfer_error()
        with self._guard:
            fd: int = library.glinfer_device_fd(self, byref(error))
        if fd < 0:
            raise make_error(error)
        return fd

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        poll.poll(100)  # another thread may step the answer meanwhile

    async def _wait_async(self) -> None:
        """Waits until the device is readable. All coroutines of an event loop share one reader."""
        loop = asyncio.get_running_loop()
        readable = self._readable
        if readable is None or readable.get_loop() is not loop:
            self._readable = readable = loop.create_future()
            loop.add_reader(self.fileno(), self._be_readable, readable)
        await asyncio.shield(readable)

    def _be_readable(self, readable: asyncio.Future[None]) -> None:
        if self._readable is readable:
            self._readable = None
            readable.get_loop().remove_reader(self.fileno())
            readable.set_result(None)

    def _wake(self) -> None:
        readable = self._readable
        if readable is not None and not readable.get_loop().is_closed():
            readable.get_loop().call_soon_threadsafe(self._be_readable, readable)

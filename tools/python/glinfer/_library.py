"""Loads libglinfer and turns its errors into exceptions."""
from __future__ import annotations

import os
import threading
import weakref
from ctypes import CDLL, Array, byref, c_void_p, sizeof
from enum import IntEnum
from functools import lru_cache, partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, TypeVar, cast, get_type_hints

from . import _ffi
from ._ffi import Status

Result = TypeVar("Result")


class Error(Exception):
    """A call of the library failed. Its text is the library's sentence."""

    status: Status


class InvalidArgumentError(Error, ValueError):
    """An argument, or a call that is not allowed now."""


class NotFoundError(Error, FileNotFoundError):
    """A file does not exist."""


class InputOutputError(Error, OSError):
    """A file cannot be read or written."""


class BadFileError(Error, ValueError):
    """A file is damaged or malformed."""


class UnsupportedError(Error, NotImplementedError):
    """The model or the device cannot do it."""


class NoDeviceError(Error, RuntimeError):
    """No GPU is usable."""


class NoMemoryError(Error, MemoryError):
    """An allocation failed, or would exceed the budget."""


class ContextFullError(Error, ValueError):
    """The tokens do not fit into the context."""


class CancelledError(Error):
    """The call was cancelled."""


class GpuError(Error, RuntimeError):
    """The GPU or its driver failed. After GPU_LOST and GPU_FAULT call Device.recover."""


ERRORS: Dict[int, Type[Error]] = {
    Status.INVALID_ARGUMENT: InvalidArgumentError, Status.NOT_FOUND: NotFoundError, Status.IO: InputOutputError,
    Status.BAD_FILE: BadFileError, Status.UNSUPPORTED: UnsupportedError, Status.NO_DEVICE: NoDeviceError,
    Status.NO_MEMORY: NoMemoryError, Status.OVER_BUDGET: NoMemoryError, Status.CONTEXT_FULL: ContextFullError,
    Status.CANCELLED: CancelledError, Status.DRIVER: GpuError, Status.GPU_LOST: GpuError, Status.GPU_FAULT: GpuError}
for _exception in (Error, *ERRORS.values()):
    _exception.__module__ = "glinfer"


def load_library() -> CDLL:
    """Loads the library that LIBGLINFER names, or the installed one."""
    series = _ffi.VERSION.rpartition(".")[0]
    path = os.environ.get("LIBGLINFER") or f"libglinfer.so.{series}"
    try:
        library = CDLL(path)
        _ffi.bind(library)
        version = library.glinfer_version().decode()
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot load {path}: {error}; install the package libglinfer{series}, or set "
                          "LIBGLINFER to the path of libglinfer.so") from None
    if version.rpartition(".")[0] != series:
        raise ImportError(f"cannot use {path}: its version is {version}, this package is for {series}")
    return library


library = load_library()


def make_error(error: _ffi.glinfer_error) -> Error:
    """Returns the exception of a failure that the library reported."""
    exception = ERRORS.get(error.status, Error)(error.message.decode(errors="replace"))
    exception.status = Status(error.status)
    return exception


def make_invalid(text: str) -> Error:
    """Returns the exception of a call that is not allowed now."""
    exception = InvalidArgumentError(text)
    exception.status = Status.INVALID_ARGUMENT
    return exception


def call(function: Any, *arguments: Any) -> Any:
    """Calls a fallible function and returns its result. Raises Error if it is false or NULL."""
    error = _ffi.glinfer_error()
    result = function(*arguments, byref(error))
    if not result:
        raise make_error(error)
    return result


def fill(params: Any, settings: Mapping[str, Any]) -> None:
    """Sets fields of a struct by their names. None leaves the default."""
    for name, value in settings.items():
        if not hasattr(type(params), name):
            raise TypeError(f"unknown setting {name!r}")
        if value is not None:
            set_field(params, name, encode(value) if isinstance(value, (str, os.PathLike)) else value)


def set_field(params: Any, name: str, value: Any) -> None:
    """Sets a field of a struct. ctypes alone would take numbers that do not fit."""
    try:
        setattr(params, name, value)
    except TypeError as error:
        raise TypeError(f"invalid setting {name}: {error}") from None
    if isinstance(value, int) and getattr(params, name) != value:
        raise ValueError(f"invalid setting {name}: {value} is out of range")


def new(kind: Any, settings: Optional[Mapping[str, Any]] = None) -> Any:
    """Returns a struct that starts with its size, with settings."""
    params = kind(sizeof(kind))
    fill(params, settings or {})
    return params


def encode(value: Any) -> bytes:
    """Returns a text in UTF-8, or a path as the file system has it."""
    data = os.fsencode(value) if isinstance(value, os.PathLike) else value.encode()
    if b"\0" in data:
        raise ValueError(f"invalid text: {value!r} has a NUL")
    return data


@lru_cache(None)
def fields_of(kind: Any) -> Dict[str, Any]:
    return get_type_hints(kind)


def read(struct: Any, kind: Type[Result]) -> Result:
    """Returns a struct as a named tuple of numbers, texts and enums."""
    values: List[Any] = []
    for name, hint in fields_of(cast(Any, kind)).items():
        value = getattr(struct, name)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif isinstance(value, Array):
            value = tuple(value)
        elif issubclass(hint, IntEnum):
            value = hint(value)
        values.append(value)
    return kind(*values)


class Guard:
    """Lets one thread at a time use a device and the objects that belong to it."""

    def __init__(self, *callbacks: Any) -> None:
        self.lock = threading.RLock()
        self._callbacks = callbacks  # that the library may call until the last object is destroyed
        self._late: List[Callable[[], Any]] = []  # calls for objects that were collected while another thread had the lock

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        while self._late:
            self._late.pop(0)()
        self.lock.release()

    def run(self, function: Callable[[], Any]) -> None:
        """Calls a function, later if another thread uses the device: the garbage collector does not wait."""
        if self.lock.acquire(blocking=False):
            try:
                function()
            finally:
                self.lock.release()
        else:
            self._late.append(function)

    def destroy(self, function: Any, pointer: int) -> None:
        """Destroys an object."""
        self.run(partial(function, byref(c_void_p(pointer))))


class Handle:
    """An object of the library, which close, the end of a with block or of its last reference destroys."""

    def __init__(self, guard: Guard, pointer: int, destroy: Any) -> None:
        self._guard = guard
        self._as_parameter_: Optional[int] = pointer
        self._finalizer = weakref.finalize(self, guard.destroy, destroy, pointer)

    def close(self) -> None:
        """Destroys the object. Later calls with it raise InvalidArgumentError."""
        self._as_parameter_ = None
        self._finalizer()

    def __enter__(self: Result) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Progress:
    """A progress callback for ctypes. An exception in it, such as KeyboardInterrupt, cancels the call."""

    def __init__(self, function: Optional[Callable[[_ffi.Phase, int, int], Optional[bool]]] = None) -> None:
        self._exception: Optional[BaseException] = None

        def report(_: Any, phase: int, done: int, total: int) -> bool:
            try:
                return function is None or function(_ffi.Phase(phase), done, total) is not False
            except BaseException as exception:  # also KeyboardInterrupt, which ctypes would ignore
                self._exception = exception
                return False
        self.function = _ffi.glinfer_progress_fn(report)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Calls a fallible function, as call does. Raises the exception of the callback, if there was one."""
        try:
            return call(function, *arguments)
        except CancelledError:
            if self._exception is not None:
                raise self._exception from None
            raise

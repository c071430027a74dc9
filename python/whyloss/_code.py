"""Digests classes and functions whose source is unknown: their code, and the values that they hold."""

from __future__ import annotations

import functools
import hashlib
import inspect
import types
from collections.abc import Iterable

_ATOMS = (type(None), type(...), bool, int, float, complex, str, bytes)
_NAMED = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.ModuleType,
    types.WrapperDescriptorType,
)
"""The types of values that only an installed package can change."""

_CODE = (
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
    "co_code",
    "co_consts",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_exceptiontable",
)
"""The attributes of code that say what it does. Python 3.10 lacks the last."""

_NO_CODE = {
    "__abstractmethods__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__qualname__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}
"""Attributes of a class that say nothing about its code, or in another order in each process."""

_HEAP_TYPE = 1 << 9
"""The flag of a class that is not one of C."""


def source(of: object) -> str | None:
    """Return the source of a class or function, unless it is unknown or also depends on values from outside."""
    if not isinstance(of, type | types.FunctionType) or "<" in of.__qualname__ or getattr(of, "__closure__", None):
        return None
    try:
        return inspect.getsource(of)
    except (OSError, TypeError):
        return None


def digest(of: object) -> str:
    """Return a digest, the same in each process. Raises any exception if the value holds something that has none."""
    return _Walk().of(of).hex()


def _hash(kind: str, *parts: bytes) -> bytes:
    made = hashlib.sha256()
    for part in (kind.encode(), *parts):
        made.update(len(part).to_bytes(8, "big") + part)
    return made.digest()


class _Walk:
    """A walk over a value and everything that it holds."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, object]] = {}
        """The digests by identity. Keeping the values prevents that others get their identities."""
        self._path: list[int] = []

    def of(self, value: object) -> bytes:
        if type(value) in _ATOMS:
            return _hash(type(value).__name__, repr(value).encode("utf-8", "backslashreplace"))
        key = id(value)
        if key in self._known:
            return self._known[key][0]
        if key in self._path:
            return _hash("cycle", b"%d" % (len(self._path) - self._path.index(key)))
        self._path.append(key)
        made = self._compound(value)
        self._path.pop()
        self._known[key] = made, value
        return made

    def _all(self, kind: str, values: Iterable[object]) -> bytes:
        return _hash(kind, *map(self.of, values))

    def _compound(self, value: object) -> bytes:
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return self._all(type(value).__name__, value)
        if isinstance(value, set | frozenset):
            return _hash("set", *sorted(map(self.of, value)))
        if isinstance(value, types.MappingProxyType) or (isinstance(value, dict) and type(value) is dict):
            return self._all("dict", (part for pair in value.items() for part in pair))
        if isinstance(value, types.CodeType):
            return self._all("code", (getattr(value, name, None) for name in _CODE))
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return self._all("method", (value.__func__, value.__self__))
        if isinstance(value, staticmethod | classmethod):
            return self._all(type(value).__name__, (value.__func__,))
        if isinstance(value, property):
            return self._all("property", (value.fget, value.fset, value.fdel))
        if isinstance(value, functools.partial):
            return self._all("partial", (value.func, value.args, value.keywords))
        if isinstance(value, _NAMED):
            name = getattr(value, "__qualname__", value.__name__)
            return self._all("named", (getattr(value, "__module__", None), name))
        if isinstance(value, type):
            return self._class(value)
        return self._object(value)

    def _function(self, function: types.FunctionType) -> bytes:
        text = source(function)
        if text is not None:
            return self._all("source", (text,))
        cells = [_held(cell) for cell in function.__closure__ or ()]
        code = function.__code__
        held = (code, function.__defaults__, function.__kwdefaults__, function.__dict__, cells)
        # Other global values may change during a run, and so may say nothing about the code.
        used = (function.__globals__.get(name) for name in sorted(_names(code)))
        return self._all("function", (*held, [value for value in used if isinstance(value, type | types.FunctionType)]))

    def _class(self, made: type) -> bytes:
        text = source(made)
        if text is not None:
            return self._all("source", (text,))
        name = (made.__module__, made.__qualname__)
        if not made.__flags__ & _HEAP_TYPE:
            return self._all("named", name)
        entries = sorted((name, value) for name, value in vars(made).items() if name not in _NO_CODE)
        return self._all("class", (made.__bases__, *entries))

    def _object(self, value: object) -> bytes:
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return self._all("global", (type(value), reduced, getattr(value, "__wrapped__", None)))
        make, arguments, state, items, entries = (*reduced, None, None, None)[:5]
        return self._all("object", (make, arguments, state, list(items or ()), list(entries or ())))


def _held(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        # Nothing has been assigned yet.
        return None


def _names(code: types.CodeType) -> set[str]:
    """Return the names of globals and attributes that a function uses, including the functions inside it."""
    inner = (_names(of) for of in code.co_consts if isinstance(of, types.CodeType))
    return set(code.co_names).union(*inner)

"""`dataclass` for frozen values, made in a third of the time.

Every command imports a hundred of them before it does anything, and the standard decorator compiles six functions for
each; that was a third of the start-up. Here one is compiled, `__init__`, and the others are shared. What comes out is
a dataclass like any other: `fields`, `replace`, `asdict`, `match` and pickling work; a type checker sees no difference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, *, frozen: bool = False, slots: bool = False, kw_only: bool = False) -> Any:
        if not (frozen and slots):
            return dataclasses.dataclass(cls, frozen=frozen, slots=slots, kw_only=kw_only)
        return _frozen(cls, kw_only) if cls is not None else lambda cls: _frozen(cls, kw_only)


_KEPT = ("__init__", "__repr__", "__eq__", "__hash__")  # those a class may write itself
_set = object.__setattr__


def _frozen(cls: type, kw_only: bool) -> type:
    own = [name for name in _KEPT if name in cls.__dict__]
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    shown = dataclasses.fields(made)
    names = tuple(field.name for field in shown)
    methods = {
        "__init__": _init(made, shown),
        **_comparing(shown),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__getstate__": lambda self: [getattr(self, name) for name in names],
        "__setstate__": lambda self, state: _fill(self, names, state),
    }
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _init(made: type, shown: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """The one function that is compiled: values are made all the time, and this is the fastest way to make one."""
    known: dict[str, Any] = {"_set": _set, "_missing": dataclasses.MISSING}
    plain, named, body = list[str](), list[str](), list[str]()
    for field in (field for field in shown if field.init):
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_new_{name}"] = field.default_factory
            value = f"_new_{name}() if {name} is _missing else {name}"
            given = f"{name}=_missing"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            given = f"{name}=_default_{name}"
        else:
            given = name
        (named if field.kw_only else plain).append(given)
        body.append(f" _set(self, '{name}', {value})")
    if hasattr(made, "__post_init__"):
        body.append(" self.__post_init__()")
    given = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    exec(f"def __init__({given}):\n" + "\n".join(body or [" pass"]), known)
    known["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return known["__init__"]  # type: ignore[no-any-return]


def _comparing(shown: tuple[dataclasses.Field[Any], ...]) -> dict[str, Callable[..., Any]]:
    compared = [field.name for field in shown if field.compare]
    values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda value: ()

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    def __repr__(self: Any) -> str:  # noqa: N807
        said = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in shown if field.repr)
        return f"{self.__class__.__qualname__}({said})"

    return {"__eq__": __eq__, "__hash__": __hash__, "__repr__": __repr__}


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"{type(self).__name__}.{name} is settled: make a new one with `replace`")


def _fill(self: Any, names: tuple[str, ...], state: list[Any]) -> None:
    for name, value in zip(names, state, strict=True):
        _set(self, name, value)

"""Our frozen values behave as the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace

import pytest

from sojourn.core import values


def _make(dataclass):
    @dataclass(frozen=True, slots=True)
    class Place:
        name: str
        at: float = 0.0
        tags: list[str] = field(default_factory=list, compare=False)
        hidden: str = field(default="", repr=False)

        @property
        def loud(self) -> str:
            return self.name.upper()

    return Place


def _make_named(dataclass):
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        a: int
        b: int = 2

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("too small")

        def __repr__(self) -> str:
            return f"<{self.a}>"

    return Named


def _make_child(dataclass):
    @dataclass(frozen=True, slots=True)
    class Parent:
        a: int

    @dataclass(frozen=True, slots=True)
    class Child(Parent):
        b: int = 5

    return Child


@dataclasses.dataclass(frozen=True, slots=True)
class Empty:
    """Only to be compared with."""


@values.dataclass(frozen=True, slots=True)
class Kept:
    """Where pickle finds it."""

    name: str
    more: object = None


@pytest.fixture(params=[_make, _make_named, _make_child])
def pair(request):
    return request.param(values.dataclass), request.param(dataclasses.dataclass)


def test_the_same_fields_defaults_and_signature(pair):
    ours, theirs = pair

    def told(cls):
        return [(f.name, f.type, f.default, f.default_factory, f.kw_only, f.repr, f.compare) for f in fields(cls)]

    assert told(ours) == told(theirs)
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__


@pytest.mark.parametrize("given", [((), {"a": 1}), ((), {"a": 1, "b": 3}), ((), {"a": -1}), ((1,), {}), ((), {})])
def test_made_alike_or_refused_alike(given):
    args, named = given
    outcomes = []
    for make in (values.dataclass, dataclasses.dataclass):
        try:
            made = _make_named(make)(*args, **named)
            outcomes.append((made.a, made.b, repr(made)))
        except (TypeError, ValueError) as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


def test_equal_hashed_and_shown_alike():
    for make in (values.dataclass, dataclasses.dataclass):
        place = _make(make)
        one, other = place("x", 1.0), place("x", 1.0, ["elsewhere"])
        assert one == other
        assert hash(one) == hash(other)
        assert len({one, other}) == 1
        assert one != place("y", 1.0)
        assert one != ("x", 1.0)
        assert repr(one).endswith("Place(name='x', at=1.0, tags=[])")
        assert one.tags is not place("x").tags
        assert place("x").loud == "X"


def test_a_child_of_another_is_not_its_parent():
    ours = _make_child(values.dataclass)
    assert ours(1) == ours(1, 5)
    assert ours(1) != ours.__mro__[1](1)
    assert repr(ours(1)).endswith("Child(a=1, b=5)")


def test_nothing_can_be_changed_or_added():
    one = _make(values.dataclass)("x")
    for change in (lambda: setattr(one, "name", "y"), lambda: setattr(one, "new", 1), lambda: delattr(one, "name")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert one.name == "x"
    assert not hasattr(one, "__dict__")


def test_replaced_taken_apart_and_matched():
    place = _make(values.dataclass)
    assert replace(place("x", 1.0), at=2.0) == place("x", 2.0)
    assert asdict(place("x", 1.0, ["a"])) == {"name": "x", "at": 1.0, "tags": ["a"], "hidden": ""}
    match place("x", 1.0):
        case place(name, at):
            assert (name, at) == ("x", 1.0)


def test_sent_to_another_process_and_copied():
    one = Kept("x", more=(1, 2))
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one
    with pytest.raises(FrozenInstanceError):
        pickle.loads(pickle.dumps(one)).name = "y"


def test_without_fields():
    class Nothing:
        pass

    ours = values.dataclass(frozen=True, slots=True)(Nothing)
    assert ours() == ours()
    assert hash(ours()) == hash(ours())
    assert Empty() == Empty()


def test_what_may_change_is_left_to_the_standard_library():
    @values.dataclass(slots=True)
    class Open:
        a: int = 1

    one = Open()
    one.a = 2
    assert one == Open(2)

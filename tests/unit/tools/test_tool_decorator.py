"""@tool: a function becomes a tool, and a call is checked against its hints."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.ports.tool import ToolResult, Workspace
from sojourn.tool_schema import tool, validate_arguments


@tool(effect="writes")
async def plant(
    at: Workspace,
    name: str,
    count: int = 1,
    depth: float = 0.5,
    where: Literal["bed", "pot"] = "bed",
    water: bool = True,
    notes: list[str] | None = None,
) -> str:
    """Plants something.

    It says what it did.

    name: what is planted
    count: how many,
        in whole plants
    """
    return f"{count} {name} in the {where} at {depth}, {water}, {notes}"


def test_name_docstring_and_hints_are_the_schema():
    assert plant.name == "plant"
    assert plant.description == "Plants something.\n\nIt says what it did."
    assert plant.effect == "writes"
    assert plant.parameters == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "what is planted"},
            "count": {"type": "integer", "description": "how many, in whole plants", "default": 1},
            "depth": {"type": "number", "default": 0.5},
            "where": {"type": "string", "enum": ["bed", "pot"], "default": "bed"},
            "water": {"type": "boolean", "default": True},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


async def test_function_is_called_with_its_defaults():
    told = await plant.run(None, {"name": "rose"})
    assert told == ToolResult(text="1 rose in the bed at 0.5, True, None")


async def test_clear_meanings_are_understood():
    told = await plant.run(
        None, {"name": 7, "count": "3", "water": "False", "depth": 1, "notes": '["a"]', "where": "pot"}
    )
    assert told.text == "3 7 in the pot at 1, False, ['a']"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "`name` is missing"),
        ({"name": None}, "`name` must be a text"),
        ({"name": "x", "count": 1.5}, "`count` must be a whole number"),
        ({"name": "x", "count": True}, "`count` must be a whole number"),
        ({"name": "x", "where": "sky"}, "`where` must be one of bed, pot"),
        ({"name": "x", "notes": "a"}, "`notes` must be a list"),
        ({"name": "x", "notes": [1, {}]}, r"`notes\[1\]` must be a text"),
        ({"name": "x", "colour": "red"}, "no argument `colour`"),
        ({"name": "a\0b"}, "NUL"),
        ({"name": "\ud800"}, "broken character"),
    ],
)
async def test_wrong_arguments_are_named(given, problem):
    with pytest.raises(BadInput, match=problem):
        await plant.run(None, given)


def test_missing_optional_may_come_as_null():
    assert validate_arguments(plant.parameters, {"name": "x", "count": None}) == ({"name": "x"}, [])


@pytest.mark.parametrize("raw", ["{", "[]", "3", "null", '"x"', "[" * 100_000])
def test_what_is_no_object_is_refused(raw):
    made, problems = validate_arguments(plant.parameters, raw)
    assert made == {}
    assert len(problems) == 1


def test_asking_first_shows_the_arguments():
    @tool(asks_first=True)
    async def peek(at: Workspace, at_what: str) -> str:
        """Peeks."""
        return ""

    question = peek.asks(None, {"at_what": "the present"})
    assert question.text == "May I use peek?"
    assert question.detail == "at_what: the present"


def test_hint_no_schema_can_say_is_refused_when_it_is_written():
    with pytest.raises(TypeError, match="cannot take a parameter"):

        @tool()
        async def odd(at: Workspace, what: bytes) -> str:
            """Odd."""
            return ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["name", "count", "where", "notes", "water", "other"]), json_values))
def test_check_never_breaks_and_good_arguments_stay_good(given):
    made, problems = validate_arguments(plant.parameters, given)
    if not problems:
        assert validate_arguments(plant.parameters, made) == (made, [])

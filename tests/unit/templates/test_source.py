"""The context source: who gets a template, when, why, and what is noted afterwards."""

import pytest

from sojourn.core.errors import NotFound
from sojourn.core.messages import assistant, tool_calls_of, user
from sojourn.core.sessions import Principal, Session, SessionId
from sojourn.ports.context import CanLearn, ContextRequest
from sojourn.templates.context_source import TemplateSource
from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.text.template_examples import is_example
from tests.unit.templates.worlds import ran


def kept(name="deploying", tool="terminal", request="deploy the blog to staging", result="done"):
    examples = [ToolCallExample(tool, {"command": f"step {n}"}, result) for n in range(2)]
    return StoredTemplate(
        SessionTemplate(name, TaskType.TERMINAL, examples), About(requests=(request,), sessions=("s0",))
    )


def request(said="deploy the blog please", session="s1", principal="owner", history=(), **more):
    return ContextRequest(
        session=Session(id=SessionId(session), principal=Principal(principal)),
        said=said,
        history=tuple(history),
        **more,
    )


@pytest.fixture
async def library(tmp_path):
    found = FolderLibrary(tmp_path)
    await found.save(kept())
    return found


@pytest.fixture
def source(library):
    return TemplateSource(library)


async def uses(library, name="deploying"):
    return (await library.get(name)).template.usage_count


async def test_a_new_session_that_looks_like_a_known_task_gets_a_template_and_is_told_why(source, library):
    given = await source.contribute(request())
    assert [one.role for one in given.examples] == ["system", "assistant", "tool", "assistant", "tool"]
    assert all(map(is_example, given.examples))
    [shown] = given.shown
    assert (shown.stage, shown.detail["name"]) == ("template", "deploying")
    assert shown.detail["because"] == "it shares deploy, blog with your request"
    assert shown.detail["tokens"] > 0
    assert await uses(library) == 1


async def test_another_request_gets_nothing(source, library):
    assert (await source.contribute(request("what is the time?"))).examples == ()
    assert await uses(library) == 0


async def test_a_session_that_is_under_way_gets_none(source):
    assert (await source.contribute(request(history=[user("hi"), assistant("hello")]))).examples == ()


async def test_guests_never_see_what_the_owner_did(source):
    assert (await source.contribute(request(principal="guest"))).examples == ()
    with_name = await source.contribute(request(principal="guest", template="deploying"))
    assert with_name.examples == ()


@pytest.mark.parametrize("drop", [{"drop": ("templates",)}, {"drop": ("deploying",)}, {"template": "none"}])
async def test_what_is_not_wanted_is_not_brought(source, library, drop):
    assert (await source.contribute(request(**drop))).examples == ()
    assert await uses(library) == 0


async def test_it_can_be_turned_off_and_a_named_one_still_comes(library):
    source = TemplateSource(library, automatic=False)
    assert (await source.contribute(request())).examples == ()
    [shown] = (await source.contribute(request("anything at all", template="deploying"))).shown
    assert shown.detail["because"] == "you asked for it"


async def test_a_name_that_is_not_there_is_said(source):
    with pytest.raises(NotFound, match='no template "nope"'):
        await source.contribute(request(template="nope"))


async def test_the_session_keeps_its_template_and_is_counted_once(source, library):
    first = await source.contribute(request())
    await source.after(request(), [user("deploy"), assistant("done")], "completed")
    later = await source.contribute(request("and now?", history=[user("deploy"), assistant("done")]))
    assert later.examples == first.examples
    assert await uses(library) == 1


async def test_one_that_is_dropped_stays_away_and_that_is_noted(source, library):
    await source.contribute(request())
    assert (await source.contribute(request("and now?", history=[user("x")], drop=("deploying",)))).examples == ()
    assert (await source.contribute(request("again", history=[user("x")]))).examples == ()
    assert (await library.read_note("outcome", "s1"))["dropped"] == ["deploying"]


async def test_running_without_it_drops_it_for_the_rest_of_the_session(source, library):
    await source.contribute(request())
    assert (await source.contribute(request(template="none"))).examples == ()
    assert (await source.contribute(request("and now?", history=[user("x")]))).examples == ()
    note = await library.read_note("outcome", "s1")
    assert (note["templates"], note["dropped"]) == ([], ["deploying"])


async def test_one_that_is_chosen_takes_the_place_of_the_one_before(source, library):
    await library.save(kept("other", request="something else"))
    await source.contribute(request())
    for said in ("go", "and now?"):
        given = await source.contribute(request(said, template="other", history=[user("x")]))
        assert [one.detail["name"] for one in given.shown] == ["other"]
    assert (await library.read_note("outcome", "s1"))["dropped"] == ["deploying"]


async def test_ids_that_are_taken_in_the_session_are_not_used_again(source):
    given = await source.contribute(request("go", template="deploying", history=ran("ls", id="template_0")))
    assert [call.id for one in given.examples for call in tool_calls_of(one)] == ["template_0_2", "template_1"]


async def test_examples_are_put_into_the_tools_of_the_session_or_left_out_aloud(source, library):
    given = await source.contribute(request(tools=("shell", "Read")))
    assert {call.name for one in given.examples for call in tool_calls_of(one)} == {"shell"}
    assert given.shown[0].detail["mapped"] == ["terminal as shell"]
    none = await source.contribute(request(session="s2", tools=("Read",)))
    assert none.examples == ()
    assert none.left_out == (
        'example of template "deploying": terminal (this session has no such tool)',
        'template "deploying" (nothing of it fits this session)',
    )
    assert await uses(library) == 1


async def test_one_that_was_asked_for_is_cut_to_the_budget(source, library):
    await library.save(kept("long", result="word " * 300))
    given = await source.contribute(request(template="long", budget=500))
    assert len(given.examples) == 3
    assert given.left_out == ('example of template "long": terminal (no room)',)
    assert given.shown[0].detail["left_out"] == ["terminal (no room)"]
    assert (await source.contribute(request(session="s2", template="long", budget=50))).examples == ()


async def test_one_of_ten_long_examples_comes_by_itself_as_far_as_there_is_room(source, library):
    await library.delete("deploying")
    ten = [ToolCallExample("terminal", {"command": f"step {n}"}, "word " * 300) for n in range(10)]
    template = SessionTemplate("long", TaskType.TERMINAL, ten)
    await library.save(StoredTemplate(template, About(requests=("deploy the blog to staging",), sessions=("s0",))))
    given = await source.contribute(request())
    [shown] = given.shown
    assert 0 < shown.detail["examples"] < 10
    assert 0 < shown.detail["tokens"] <= request().budget
    assert given.left_out[0].endswith("(no room)")


async def test_what_became_of_a_session_is_noted_with_and_without_a_template(source, library):
    assert isinstance(source, CanLearn)
    await source.contribute(request())
    await source.after(request(), [user("deploy"), *ran("ls"), assistant("done")], "completed")
    plain = request("what is the time?", session="s2")
    await source.contribute(plain)
    await source.after(plain, [user("time?"), assistant("noon")], "failed")
    notes = await library.notes("outcome")
    assert (notes["s1"]["templates"], notes["s1"]["turns"], notes["s1"]["tools"]) == (["deploying"], 1, {"terminal": 1})
    assert (notes["s2"]["templates"], notes["s2"]["status"]) == ([], "failed")


async def test_sessions_that_began_before_are_not_counted(source, library):
    await source.after(request(history=[user("old")]), [assistant("x")], "completed")
    assert await library.notes("outcome") == {}

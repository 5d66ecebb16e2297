"""Chat commands: one table for the terminal, chat networks and the browser.

A handler asks `ports.Service` and returns a `CommandResult`; the surface renders it and applies what it changes. To add
a command, write its handler here; `@_command` is its entry in the table.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal

from sojourn.chat_command_table import (
    COMMANDS,
    ChatCommand,
    CommandCall,
    CommandResult,
    CommandSurface,
    describe_runtimes,
    find_command,
    list_commands,
    list_rows,
    parse_command,
    require_template,
    run_command,
    run_plugin_command,
    split_arguments,
)
from sojourn.chat_command_table import add_command as _command
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.handoff import LOCAL_SURFACES
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import OWNER, Session
from sojourn.ports.libraries import Skill
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Listing, SearchQuery
from sojourn.text.export import make_title_file_name
from sojourn.text.formatting import format_age, one_line, pluralize
from sojourn.text.titles import clean_title
from sojourn.turn_support.lasting_approvals import describe_approval
from sojourn.turn_support.permission_modes import MODES, parse_mode

__all__ = [
    "COMMANDS",
    "ChatCommand",
    "CommandCall",
    "CommandResult",
    "CommandSurface",
    "find_command",
    "list_commands",
    "parse_command",
    "require_template",
    "run_command",
    "take_session",
]
_IDLE_WAIT_SECONDS = 5.0  # the last words of an answer are read before its turn has ended
_LISTED_SESSIONS, _LISTED_MODELS, _LISTED_HITS = 15, 20, 10  # rows


async def take_session(service: Service, found: Session, by: Caller) -> Session:
    """Makes `by.surface` the driver of a session, unless it is already."""
    return found if found.driver in (None, by.surface) else await service.take_over(found.id, by)


def _say(*lines: str, **changes: Any) -> CommandResult:
    return CommandResult(lines=lines, **changes)


def _name_of(session: Session) -> str:
    return f"“{session.title or session.id}”"


async def _get_session(call: CommandCall) -> Session:
    """The conversation's session as it is now. BadInput if it has none."""
    if call.session is None:
        raise BadInput("There is no session here yet.", hint="Your first message begins one.")
    return await call.service.get(call.session, principal=call.by.principal)


@_command("List the commands.")
async def _help(call: CommandCall) -> CommandResult:
    found = list_commands(call.surface, is_owner=call.by.principal == OWNER)
    return CommandResult(rows=tuple((f"/{one.name} {one.arguments}".rstrip(), one.help) for one in found))


@_command("Begin a new session with your next message.")
async def _new(call: CommandCall) -> CommandResult:
    return _say("Your next message begins a new session.", change="new")


@_command("List your newest sessions, or search their titles.", "[words]")
async def _sessions(call: CommandCall) -> CommandResult:
    listing = Listing(principal=call.by.principal, text=call.arguments, limit=_LISTED_SESSIONS)
    found, now = await call.service.find(listing), time.time()
    marks = ["●" if one.id == call.session else "○" for one in found]
    titles = [one_line(one.title or one.preview or "(empty)", 60) for one in found]
    ages = [format_age(one.last_active, now) for one in found]
    return list_rows(zip(marks, titles, [one.id for one in found], ages, strict=True), if_empty="No sessions yet.")


@_command("Continue a session here, by title or id.", "<session>")
async def _resume(call: CommandCall) -> CommandResult:
    wanted = call.arguments or call.previous or ""
    if not wanted:
        raise BadInput("Which session?", hint="/resume and a title or id; /sessions lists them.")
    found = await call.service.resolve(wanted, principal=call.by.principal)
    taken = await take_session(call.service, found, call.by)
    lines = [f"Here is {_name_of(found)}, with {pluralize(found.message_count, 'message')}."]
    if taken is not found:
        lines.insert(0, f"You have taken this session over from {found.driver}.")
    return _say(*lines, change="drive", session=taken)


@_command("Show or set the title.", "[words]")
async def _title(call: CommandCall) -> CommandResult:
    session = await _get_session(call)
    if not call.arguments:
        return _say(session.title or "This session has no title yet.")
    changed = await call.service.change(session, replace(session, title=clean_title(call.arguments)))
    return _say(f"This session is now called {_name_of(changed)}.", session=changed)


@_command("Show the models, or use one from now on.", "[name]", owner_only=True)  # a guest's choice costs the owner
async def _model(call: CommandCall) -> CommandResult:
    if call.arguments:
        model = "" if call.arguments == "default" else call.arguments
        lines = [f"From now on: {model or 'the default model'}."]
        known = {name for one in await call.service.runtimes() if one.ok for name in one.models}
        if model and known and model not in known:
            near = get_close_matches(model, known, n=3)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            lines.append(f"No runtime lists a model of that name; your next message shows whether there is one.{meant}")
        return _say(*lines, choices={"model": model})
    usable = [one for one in await call.service.runtimes() if one.ok and one.models]
    rows = tuple((one.name, ", ".join(one.models[:_LISTED_MODELS])) for one in usable)
    return _say(f"In use: {call.model or 'the default'}. /model NAME changes it, /model default resets it.", rows=rows)


@_command("Show the runtimes, or use one from now on.", "[name]", owner_only=True)
async def _runtime(call: CommandCall) -> CommandResult:
    found = await call.service.runtimes()
    if not call.arguments:
        return CommandResult(rows=tuple(describe_runtimes(found)))
    if call.arguments not in [one.name for one in found]:
        offered = ", ".join(one.name for one in found if one.offered)
        raise NotFound(f'There is no runtime "{call.arguments}".', hint=f"There are: {offered}.")
    return _say(f"From now on {call.arguments} answers. The transcript stays.", choices={"runtime": call.arguments})


@_command("List templates, use one or none, or run again without.", "[name|none|auto|again]")
async def _template(call: CommandCall) -> CommandResult:
    wanted = call.arguments
    if wanted == "again" and call.surface == "terminal":
        return CommandResult(rerun=True)
    if wanted:
        if call.by.principal == OWNER:
            await require_template(call.service, wanted)
        choices = {"template": "" if wanted == "auto" else wanted}
        return _say(f"Template: {wanted}. /template auto chooses one automatically.", choices=choices)
    if call.by.principal != OWNER:
        raise BadInput("Which template?", hint="/template and its name, none, or auto.")
    found = await call.service.list_templates()
    rows = ((one.name, one.kind, one.problem or one.description) for one in found)
    return list_rows(rows, if_empty="There are no templates yet.")


@_command("Show or change what is remembered about you.", "[list|search|add|edit|delete …]", private_only=True)
async def _memory(call: CommandCall) -> CommandResult:
    service, principal = call.service, call.by.principal
    match split_arguments(call.arguments):
        case [] | ["list"]:
            facts = await service.list_facts(principal=principal)
            rows = ((one.id, f"{one.text}  ({one.why})" if one.why else one.text) for one in facts)
            return list_rows(rows, if_empty="Nothing is remembered yet. /memory add TEXT adds a fact.")
        case ["search", *words] if words:
            facts = await service.list_facts(text=" ".join(words), principal=principal)
            return list_rows(((one.id, one.text) for one in facts), if_empty="No fact has these words.")
        case ["add", *words] if words:
            fact = await service.add_fact(" ".join(words), principal=principal)
            return _say(f"Remembered as {fact.id}: {fact.text}")
        case ["edit", id, *words] if words:
            fact = await service.edit_fact(id, " ".join(words), principal=principal)
            return _say(f"{fact.id} is now: {fact.text}")
        case ["delete", id] | ["delete", id, "--yes"]:
            return _say(f"Forgotten: {(await service.delete_fact(id, principal=principal)).text}")
    hint = "/memory list, search WORDS, add TEXT, edit ID TEXT, or delete ID."
    raise BadInput("That is not how /memory works.", hint=hint)


@_command("Ask everything that was said: the answer stands on quotes.", "QUESTION")
async def _ask(call: CommandCall) -> CommandResult:
    if not call.arguments:
        raise BadInput("There is no question.", hint="/ask why did we drop redis?")
    answer = await call.service.ask(call.arguments, principal=call.by.principal)
    rows = ((f"{one.session}:{one.seq}", f"{one.day}, {one.role}: {one_line(one.text)}") for one in answer.quotes)
    return CommandResult(lines=(answer.text,), rows=tuple(rows))


@_command("Search everything that was said, in all your sessions.", "WORDS", private_only=True)
async def _search(call: CommandCall) -> CommandResult:
    query = SearchQuery(principal=call.by.principal, text=call.arguments, order="relevance", limit=_LISTED_HITS)
    hits = [(one, one_line(one.title or "", 40)) for one in await call.service.search(query)]
    rows = ((f"{hit.session}:{hit.seq}", hit.role, title, one_line(hit.snippet.text, 160)) for hit, title in hits)
    return list_rows(rows, if_empty="Nothing that was said has these words.")


@_command("List or view the skills.", "[list|view …]", owner_only=True)
async def _skills(call: CommandCall) -> CommandResult:
    match split_arguments(call.arguments):
        case [] | ["list"]:
            found = await call.service.list_skills()
            rows = (
                (one.name, one.description) if isinstance(one, Skill) else ("✗", f"{one.path}: {one.why}")
                for one in found
            )
            return list_rows(rows, if_empty="There are no skills yet.")
        case ["view", name]:
            skill = await call.service.get_skill(name)
            return _say(skill.name, skill.description, "", skill.body, "", skill.path)
    raise BadInput("That is not how /skills works.", hint="/skills list, or view NAME.")


@_command("List or revoke what you allowed for longer than once.", "[list|revoke ID|revoke all]", owner_only=True)
async def _approvals(call: CommandCall) -> CommandResult:
    found = {one.id: one for one in await call.service.list_approvals(call.by)}
    match split_arguments(call.arguments):
        case [] | ["list"]:
            rows = ((one.id, describe_approval(one)) for one in found.values())
            return list_rows(rows, if_empty="Nothing is allowed for longer than once.")
        case ["revoke", *ids] if ids:
            revoked = [await call.service.revoke_approval(id, call.by) for id in (found if ids == ["all"] else ids)]
            return _say(*(f"Revoked: {describe_approval(one)}" for one in revoked) if revoked else ["There was none."])
    raise BadInput("That is not how /approvals works.", hint="/approvals list, revoke ID, or revoke all.")


@_command("Show or set what the agent may do unasked.", "[plan|ask|accept-edits]", owner_only=True)
async def _permissions(call: CommandCall) -> CommandResult:
    if call.arguments.partition(" ")[0] in ("list", "revoke"):
        return await _approvals(call)
    if call.session is None and call.surface == "terminal":
        mode = parse_mode(call.arguments or call.permissions)
        return _say(f"Your next message begins a session with {mode}: {MODES[mode]}.", choices={"permissions": mode})
    return await _ask_plugin(call, "permissions")


async def _ask_plugin(call: CommandCall, name: str) -> CommandResult:
    """Runs the command of a plugin where the agent works."""
    session = await _get_session(call)
    found = await run_plugin_command(call.service, name, call.arguments, session.id, call.by)
    return CommandResult(lines=found.lines, rows=found.rows, choices=found.choices)


@_command("Show tokens and cost of this session.")
async def _usage(call: CommandCall) -> CommandResult:
    session = await _get_session(call)
    cost = session.estimated_cost_usd
    shown = "cost not known" if cost is None else f"${cost:.4f}"
    return _say(f"In this session: {session.input_tokens:,} tokens in, {session.output_tokens:,} out, {shown}.")


@_command("Undo the last request and what followed; `files`: what the last turn changed.", "[files]", is_quick=False)
async def _undo(call: CommandCall) -> CommandResult:
    if call.arguments == "files":
        if call.session is not None and await call.service.running(call.session):
            raise BadInput("A turn is running.", hint="Wait for it or stop it with /stop, then undo its files.")
        return await _ask_plugin(call, "undo")
    if call.arguments:
        raise BadInput(f"/undo does not know {call.arguments}.", hint="/undo, or /undo files.")
    session = await _get_session(call)
    hidden = await call.service.undo(session.id, call.by)
    return _say(f"Undid {pluralize(hidden, 'message')}." if hidden else "There is nothing to undo.")


@_command("Summarise the conversation up to your last message, to make room.", is_quick=False)
async def _compact(call: CommandCall) -> CommandResult:
    return await _ask_plugin(call, "compact")


@_command("Show the MCP servers, their state and their tools.", owner_only=True)
async def _mcp(call: CommandCall) -> CommandResult:
    return await _ask_plugin(call, "mcp")


@_command("Show the tools the agent may use in this session.")
async def _tools(call: CommandCall) -> CommandResult:
    return await _ask_plugin(call, "tools")


@_command("Show what the model thinks, or no longer.", "[on|off]", surfaces=("terminal",))
async def _thinking(call: CommandCall) -> CommandResult:
    if call.arguments not in ("", "on", "off"):
        raise BadInput(f"/thinking does not know {call.arguments}.", hint="/thinking on, or /thinking off.")
    is_off = call.arguments == "off"
    words = "What the model thinks is no longer shown." if is_off else "What the model thinks is shown from now on."
    return _say(words, choices={"thinking": "off" if is_off else "on"})


@_command("Say your last message again, instead of its answer.", surfaces=("terminal",), is_quick=False)
async def _retry(call: CommandCall) -> CommandResult:
    return CommandResult(retry=True)


@_command("Copy the last answer to the clipboard.", surfaces=("terminal",))
async def _copy(call: CommandCall) -> CommandResult:
    session = await _get_session(call)
    found = await call.service.messages(session.id, principal=call.by.principal)
    answers = [one.item for one in found if isinstance(one.item, Message) and one.item.role == "assistant"]
    text = next((text_of(one) for one in reversed(answers) if one.active and text_of(one).strip()), "")
    if not text:
        raise BadInput("There is no answer to copy yet.", hint="Ask something first.")
    return _say(f"Copied {pluralize(len(text), 'character')}, if your terminal allows it.", copy=text)


@_command("Stop the running turn.")
async def _stop(call: CommandCall) -> CommandResult:
    stopped = call.session is not None and await call.service.stop(call.session, call.by)
    return _say("Stopping." if stopped else "Nothing is running.")


@_command("Take this session over from another surface.")
async def _take(call: CommandCall) -> CommandResult:
    session = await take_session(call.service, await _get_session(call), call.by)
    return _say(f"You now drive {_name_of(session)}.", change="drive", session=session)


@_command("Show this session, its driver and its running turn.")
async def _status(call: CommandCall) -> CommandResult:
    session = await _get_session(call)
    turn = await call.service.running(session.id)
    return _say(
        f"{_name_of(session)} ({session.id}), {pluralize(session.message_count, 'message')}, driven from "
        f"{session.driver or 'nowhere'}; {f'turn {turn} runs' if turn else 'no turn runs'}."
    )


@_command("Watch a session here; /take takes it over.", "<session>")
async def _attach(call: CommandCall) -> CommandResult:
    if not call.arguments:
        raise BadInput("Watch which session?", hint="/attach and a title or id; /sessions lists them.")
    found = await call.service.resolve(call.arguments, principal=call.by.principal)
    if found.id == call.session and not call.is_watching and found.driver in (None, call.by.surface):
        raise BadInput("That session is driven from here already.", hint="Just continue.")
    line = f"You are watching {_name_of(found)}, driven from {found.driver or 'nowhere'}. /take takes it over."
    return _say(line, change="watch", session=found)


@_command("Move this session somewhere else.", "<platform[:chat]|cli|web>", is_quick=False, opens_session=True)
async def _handoff(call: CommandCall) -> CommandResult:
    if not call.arguments:
        raise BadInput("Hand it off to where?", hint="/handoff and a platform: local, telegram:42 …")
    session = await _get_session(call)
    if call.is_watching:
        raise BadInput("You are only watching this session.", hint="Take it over first with /take.")
    deadline = time.monotonic() + _IDLE_WAIT_SECONDS
    while await call.service.running(session.id):
        if time.monotonic() > deadline:
            raise BadInput("A turn is running.", hint="Wait for it or stop it with /stop, then hand it over.")
        await asyncio.sleep(0.05)
    platform, _, target = call.arguments.replace(" ", ":", 1).partition(":")
    handoff = await call.service.hand_off(
        session.id, platform, by=call.by, target=target, wait=call.surface == "terminal"
    )
    if call.surface == "terminal" or platform in LOCAL_SURFACES:
        return CommandResult(session=session, handoff=handoff)
    line = f"On its way to {call.arguments}. Come back with /resume {session.title or session.id}."
    return _say(line, session=session, handoff=handoff)


@_command("Export the session as Markdown, or as JSONL if the file name says so.", "[file]", surfaces=("terminal",))
async def _export(call: CommandCall) -> CommandResult:
    session = await _get_session(call)
    name = call.arguments or make_title_file_name(session)
    kind: Literal["jsonl", "markdown"] = "jsonl" if name.endswith(".jsonl") else "markdown"
    text = await call.service.export(session.id, kind, principal=call.by.principal)
    return _say(f"1 session written to {name}.", file=text, file_name=name)


@_command(
    "List your own commands; allow or forbid those of this folder.", "[show NAME|allow|forbid]", surfaces=("terminal",)
)
async def _commands(call: CommandCall) -> CommandResult:
    raise BadInput("Commands of your own are files at your terminal.", hint="Use them in `sojourn chat`.")


@_command("Leave. A running turn continues.", surfaces=("terminal",))
async def _quit(call: CommandCall) -> CommandResult:
    return CommandResult(leave=True)


@_command("Make this chat the home channel for hand-offs.", surfaces=("chat",))
async def _sethome(call: CommandCall) -> CommandResult:
    return _say("Hand-offs to this network arrive here from now on.")  # the gateway knows the place and saves it


@_command("Show who you are to Sojourn.", surfaces=("chat",))
async def _whoami(call: CommandCall) -> CommandResult:
    kind = "the owner" if call.by.principal == OWNER else "a guest"
    return _say(f"You are {kind} ({call.by.principal}); here you are {call.by.name or 'somebody'}.")

"""A small agent on the protocol's own SDK, with the manners Hermes does not have. What it does is in what it hears."""

import asyncio
import os
import subprocess
import sys
from typing import Any

import acp
from acp import schema

KEY = "sk-proj-" + "Ab1" * 12  # what redaction takes for a key
MANNERS = set(sys.argv[1:])  # no-load, sign-in, old, slow-start, resumes


class Peculiar:
    def __init__(self) -> None:
        self.count, self.cancelled = 0, asyncio.Event()
        self.heard: dict[str, list[str]] = {}
        self.model = "small"

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **given: Any) -> schema.InitializeResponse:
        if "slow-start" in MANNERS:
            await asyncio.sleep(60)
        return schema.InitializeResponse(
            protocol_version=0 if "old" in MANNERS else protocol_version,
            agent_capabilities=schema.AgentCapabilities(
                load_session="no-load" not in MANNERS,
                prompt_capabilities=schema.PromptCapabilities(image=True),
                session_capabilities=schema.SessionCapabilities(
                    resume=schema.SessionResumeCapabilities() if "resumes" in MANNERS else None
                ),
            ),
            agent_info=schema.Implementation(name="peculiar", title="Peculiar", version="1.2"),
        )

    async def new_session(self, cwd: str, **given: Any) -> schema.NewSessionResponse:
        if "sign-in" in MANNERS:
            raise acp.RequestError.auth_required()
        self.count += 1
        name = f"s{os.getpid()}-{self.count}"
        self.heard[name] = []
        return schema.NewSessionResponse(session_id=name, config_options=self.options())

    def options(self) -> Any:
        """The choice of a model, in groups as large lists have them."""
        if "resumes" not in MANNERS:
            return None
        models = [schema.SessionConfigSelectOption(value=one, name=one.title()) for one in ("small", "large")]
        group = schema.SessionConfigSelectGroup(group="ours", name="Ours", options=models)
        option = schema.SessionConfigOptionSelect(
            id="brain", name="Model", category="model", type="select", current_value=self.model, options=[group]
        )
        return [option]

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **given: Any) -> Any:
        assert config_id == "brain"
        self.model = value
        return schema.SetSessionConfigOptionResponse(config_options=self.options())

    async def resume_session(self, cwd: str, session_id: str, **given: Any) -> schema.ResumeSessionResponse:
        self.heard.setdefault(session_id, ["RESUMED"])
        return schema.ResumeSessionResponse(config_options=self.options())

    async def load_session(self, session_id: str, cwd: str, **given: Any) -> schema.LoadSessionResponse:
        if "forgets" in MANNERS:
            raise acp.RequestError.resource_not_found(session_id)
        await self.say(session_id, "REPLAYED FROM THE PAST")
        self.heard.setdefault(session_id, [])
        return schema.LoadSessionResponse()

    async def cancel(self, session_id: str, **given: Any) -> None:
        self.cancelled.set()

    async def say(self, session: str, text: str) -> None:
        await self.conn.session_update(session, acp.update_agent_message_text(text))

    async def prompt(self, session_id: str, prompt: list[Any], **given: Any) -> schema.PromptResponse:
        text = "\n".join(getattr(part, "text", f"<{part.type}>") for part in prompt)
        self.heard[session_id].append(text)
        self.cancelled.clear()
        word = next((word for word in reversed(text.split()) if hasattr(self, f"do_{word.lower()}")), "")
        if not word:
            await self.say(session_id, f"[{session_id} {len(self.heard[session_id])}] {text}")
            return schema.PromptResponse(stop_reason="end_turn")
        return schema.PromptResponse(stop_reason=await getattr(self, f"do_{word.lower()}")(session_id) or "end_turn")

    async def do_stray(self, session: str) -> None:
        """Lines that are no messages, among those that are."""
        await self.say(session, "Before, ")
        await asyncio.sleep(0.05)
        os.write(1, b'npm notice: new version\n42\nnull\n[]\n{"jsonrpc":"2.0"}\n{"id":[1],"error":"x"}\n\xff\xfe\n')
        await self.say(session, "after.")

    async def do_unknown(self, session: str) -> None:
        """An update from a later version of the protocol."""
        os.write(
            1,
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s",'
            b'"update":{"sessionUpdate":"hologram","x":1}}}\n' % session.encode(),
        )
        await self.say(session, "Fine.")

    async def do_work(self, session: str) -> None:
        await self.say(session, "I look.")
        await self.conn.session_update(session, acp.start_tool_call("c1", "Reading a file", kind="read"))
        await self.conn.session_update(session, acp.update_tool_call("c1", status="failed"))
        await self.conn.session_update(session, acp.start_tool_call("c2", "Never told of again", kind="edit"))
        await self.say(session, "I found it.")

    async def do_run(self, session: str) -> None:
        """A call whose arguments come after its title, as Claude Code tells them, and one of another agent."""
        await self.say(session, "I run it.")
        named = {"_meta": {"claudeCode": {"toolName": "Bash"}}}
        started = acp.start_tool_call("r1", "Terminal", kind="execute")
        await self.conn.session_update(session, started.model_copy(update={"field_meta": named["_meta"]}))
        await self.conn.session_update(session, acp.update_tool_call("r1", raw_input={"command": "echo exported"}))
        text = [acp.tool_content(acp.text_block("exported"))]
        await self.conn.session_update(session, acp.update_tool_call("r1", status="completed", content=text))
        await self.say(session, "Now the other.")
        raw = {"command": ["ls", "-la"]}
        await self.conn.session_update(session, acp.start_tool_call("r2", "List", kind="execute", raw_input=raw))
        await self.conn.session_update(session, acp.update_tool_call("r2", status="completed", raw_output={"exit": 0}))
        await self.say(session, "Done.")

    async def do_model(self, session: str) -> None:
        resumed = " after a resume" if "RESUMED" in self.heard[session] else ""
        await self.say(session, f"I am {self.model}{resumed}.")

    async def do_plan(self, session: str) -> None:
        await self.conn.session_update(
            session, acp.update_plan([acp.plan_entry("Dig", status="in_progress"), acp.plan_entry("Plant")])
        )
        await self.say(session, "Planned.")

    async def do_shorten(self, session: str) -> str:
        await self.say(session, "There was more to")
        return "max_tokens"

    async def do_refuse(self, session: str) -> str:
        return "refusal"

    async def do_silence(self, session: str) -> None:
        return None

    async def do_break(self, session: str) -> None:
        raise acp.RequestError.internal_error({"details": "out of cheese."})

    async def do_die(self, session: str) -> None:
        await self.say(session, "I feel ")
        await asyncio.sleep(0.1)
        os.write(2, b"fatal: heart attack\n")
        os._exit(3)

    async def do_deaf(self, session: str) -> None:
        await self.say(session, "La la la.")
        await asyncio.sleep(600)

    async def do_wait(self, session: str) -> str:
        await self.say(session, "Waiting. ")
        await self.cancelled.wait()
        return "cancelled"

    async def do_child(self, session: str) -> None:
        child = subprocess.Popen(["sleep", "600"])
        await self.say(session, str(child.pid))

    async def do_files(self, session: str) -> None:
        """Wants something that we do not offer."""
        try:
            await self.conn.read_text_file(path="/etc/hostname", session_id=session)
        except acp.RequestError as error:
            await self.say(session, f"no files: {error.code}")

    async def do_permit(self, session: str) -> None:
        await self.ask(session, ("yes", "allow_once"), ("for_session", "allow_always"), ("no", "reject_once"))

    async def do_rude(self, session: str) -> None:
        await self.ask(session, ("yes", "allow_once"), ("never", "reject_always"))

    async def do_sneak(self, session: str) -> None:
        """Asks for a command with a secret and with characters that nobody sees."""
        command = {"command": f"push --with {KEY} \x1b[8m; rm x", "cwd": "/"}
        await self.ask(session, ("yes", "allow_once"), ("always", "allow_always"), ("no", "reject_once"), raw=command)

    async def ask(self, session: str, *options: tuple[str, Any], raw: Any = None) -> None:
        reply = await self.conn.request_permission(
            session_id=session,
            tool_call=schema.ToolCallUpdate(tool_call_id="p1", title="Delete it all", kind="delete", raw_input=raw),
            options=[schema.PermissionOption(option_id=name, name=name, kind=kind) for name, kind in options],
        )
        await self.say(session, f"You said {getattr(reply.outcome, 'option_id', reply.outcome.outcome)}.")


peculiar: Any = Peculiar()
asyncio.run(acp.run_agent(peculiar, use_unstable_protocol="resumes" in MANNERS))

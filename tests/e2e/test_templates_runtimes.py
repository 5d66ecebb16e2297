"""Agents of another make get a template's examples as words: a real Hermes, and an agent behind ACP."""

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.messages import Message
from sojourn.plugins import Registry
from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.model import ToolCallExample
from sojourn.testing.hermes_process import HermesProcess
from sojourn.testing.model_script import Say
from sojourn.testing.model_server import ModelServer
from sojourn.testing.service_steps import ended, join_chunks, opened, stages, talk
from sojourn.text.template_examples import is_example
from tests.integration.templates.test_plugin import ASKED, TEMPLATE

ROOT = Path(__file__).resolve().parents[2]
PARROT = """
import asyncio
import acp
from acp import schema

class Parrot:
    def on_connect(self, conn):
        self.conn = conn

    async def initialize(self, protocol_version, **given):
        return schema.InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=schema.AgentCapabilities(),
            agent_info=schema.Implementation(name="parrot", title="Parrot", version="1"),
        )

    async def new_session(self, cwd, **given):
        return schema.NewSessionResponse(session_id=f"s{id(object())}")

    async def prompt(self, session_id, prompt, **given):
        text = "\\n".join(part.text for part in prompt)
        await self.conn.session_update(session_id, acp.update_agent_message_text(text))
        return schema.PromptResponse(stop_reason="end_turn")

asyncio.run(acp.run_agent(Parrot()))
"""
NEEDED = ("sqlite", "templates", "acp", "hermes-runtime", "tools")
# One of its examples uses a tool that we do not have. These agents have their own, so it is told to them all the same.
SEARCHED = ToolCallExample("web_search", {"query": "where is it?"}, "the blog's host is web1")
KNOWN = replace(TEMPLATE, template=replace(TEMPLATE.template, examples=[*TEMPLATE.template.examples, SEARCHED]))


async def program(home: Path, settings: str) -> App:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(settings)
    await FolderLibrary(home / "session-templates").save(KNOWN)
    registry = Registry([one for one in BUILT_INS if one.name in NEEDED], lambda: ())
    return App(config.load({"home": str(home), "agent.titles": False}), registry)


async def kept_messages(kit: App, session) -> list[Message]:
    found = [one.item async for one in kit.store.read(session, messages_only=True)]
    return [one for one in found if isinstance(one, Message)]


async def test_an_agent_behind_acp_is_told_the_examples_in_words(home, tmp_path):
    (tmp_path / "parrot.py").write_text(PARROT)
    command = shlex.join([sys.executable, str(tmp_path / "parrot.py")])
    kit = await program(home, f"[plugins.acp]\ncommand = '{command}'\n")
    try:
        session = await opened(kit.service)
        kept = await talk(kit.service, session, ASKED, runtime="acp")
        assert ended(kept) == ("completed", [])
        heard = join_chunks(kept)
        assert 'Template "deploying" (terminal)' in heard
        assert "deploy --to {{place}}" in heard
        assert "deployed to staging in 3 s" in heard
        assert "the blog's host" in heard
        assert stages(kept, "template")[0]["name"] == "deploying"
        assert not any(is_example(one) for one in await kept_messages(kit, session))
        plain = await talk(kit.service, await opened(kit.service), ASKED, runtime="acp", template="none")
        assert "deploy --to" not in join_chunks(plain)
    finally:
        await kit.close()


@pytest.mark.slow
async def test_a_real_hermes_is_told_them_too_and_its_model_hears_it(home, tmp_path):
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    with ModelServer([Say("Done.")], aside=[Say("A title")]) as model:
        hermes = HermesProcess(ROOT / ".venv-hermes", tmp_path / "rig", model_url=model.url)
        hermes.start()
        kit = await program(home, f"[plugins.hermes-runtime]\nurl = '{hermes.url}'\napi_key = '{hermes.key}'\n")
        try:
            session = await opened(kit.service)
            assert ended(await talk(kit.service, session, ASKED, runtime="hermes")) == ("completed", [])
            heard = model.asked[-1].text()
            assert "deploy --to {{place}}" in heard
            assert "deployed to staging in 3 s" in heard
            assert "the blog's host" in heard
            assert model.asked[-1].last_user_text().endswith(ASKED)
            assert [one.role for one in await kept_messages(kit, session)] == ["user", "assistant"]
        finally:
            await kit.close()
            hermes.stop()

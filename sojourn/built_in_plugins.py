"""The table of built-in plugins.

Under `TYPE_CHECKING` this file imports what its lazies name, so that mypy and import-linter check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sojourn.lazy import Lazy
from sojourn.ports.plugin import Plugin

if TYPE_CHECKING:
    from sojourn.achievements.plugin import plugin as hermes_achievements
    from sojourn.acp_server.plugin import plugin as acp_server
    from sojourn.context.plugin import memory, skills, tasks
    from sojourn.continuation.plugin import plugin as continuation
    from sojourn.dashboard import plugin as dashboard
    from sojourn.gateway.plugin import plugin as gateway
    from sojourn.hooks.plugin import plugin as hooks
    from sojourn.http import plugin as http_
    from sojourn.importers.aider import plugin as aider
    from sojourn.importers.antigravity import plugin as antigravity
    from sojourn.importers.chatgpt import plugin as chatgpt
    from sojourn.importers.claude_ai import plugin as claude_ai
    from sojourn.importers.claude_code import plugin as claude_code
    from sojourn.importers.cline import plugin as cline
    from sojourn.importers.codex import plugin as codex
    from sojourn.importers.continue_dev import plugin as continue_dev
    from sojourn.importers.copilot import plugin as copilot
    from sojourn.importers.crush import plugin as crush
    from sojourn.importers.cursor import plugin as cursor
    from sojourn.importers.deepseek_harness import plugin as deepseek_harness
    from sojourn.importers.gemini import plugin as gemini
    from sojourn.importers.goose import plugin as goose
    from sojourn.importers.grok import plugin as grok
    from sojourn.importers.hermes import plugin as hermes
    from sojourn.importers.kimi import plugin as kimi
    from sojourn.importers.librechat import plugin as librechat
    from sojourn.importers.llm_logs import plugin as llm_logs
    from sojourn.importers.mistral_vibe import plugin as mistral_vibe
    from sojourn.importers.open_webui import plugin as open_webui
    from sojourn.importers.openclaw import plugin as openclaw
    from sojourn.importers.opencode import plugin as opencode
    from sojourn.importers.opencode.export import plugin as opencode_export
    from sojourn.importers.openhands import plugin as openhands
    from sojourn.importers.pi import plugin as pi
    from sojourn.importers.qwen import plugin as qwen
    from sojourn.importers.rescue import plugin as rescue
    from sojourn.importers.sojourn_export import plugin as sojourn_export
    from sojourn.importers.watch import plugin as import_watch
    from sojourn.importers.zed import plugin as zed
    from sojourn.mcp_server.plugin import plugin as mcp_server
    from sojourn.platforms.api_server import plugin as api_server
    from sojourn.platforms.bluebubbles import plugin as bluebubbles
    from sojourn.platforms.dingtalk import plugin as dingtalk
    from sojourn.platforms.discord import plugin as discord
    from sojourn.platforms.email import plugin as email_
    from sojourn.platforms.feishu import plugin as feishu
    from sojourn.platforms.homeassistant import plugin as homeassistant
    from sojourn.platforms.irc import plugin as irc
    from sojourn.platforms.local import plugin as local
    from sojourn.platforms.matrix import plugin as matrix
    from sojourn.platforms.mattermost import plugin as mattermost
    from sojourn.platforms.msgraph_webhook import plugin as msgraph_webhook
    from sojourn.platforms.ntfy import plugin as ntfy
    from sojourn.platforms.qqbot import plugin as qqbot
    from sojourn.platforms.signal import plugin as signal_
    from sojourn.platforms.slack import plugin as slack
    from sojourn.platforms.sms import plugin as sms
    from sojourn.platforms.teams import plugin as teams
    from sojourn.platforms.telegram import plugin as telegram
    from sojourn.platforms.webhook import plugin as webhook
    from sojourn.platforms.wecom import plugin as wecom
    from sojourn.platforms.wecom_app import plugin as wecom_app
    from sojourn.platforms.weixin import plugin as weixin
    from sojourn.platforms.whatsapp import plugin as whatsapp
    from sojourn.platforms.whatsapp_bridge import plugin as whatsapp_bridge
    from sojourn.platforms.xmpp import plugin as xmpp
    from sojourn.platforms.yuanbao import plugin as yuanbao
    from sojourn.runtimes.acp import plugin as acp
    from sojourn.runtimes.echo import plugin as echo
    from sojourn.runtimes.hermes import plugin as hermes_runtime
    from sojourn.runtimes.models import plugin as models
    from sojourn.runtimes.native import plugin as native
    from sojourn.runtimes.offline import plugin as offline
    from sojourn.schedules import plugin as schedules
    from sojourn.stores.postgres import plugin as postgres
    from sojourn.stores.sqlite import plugin as sqlite
    from sojourn.sync.plugin import plugin as sync
    from sojourn.templates.plugin import plugin as templates
    from sojourn.tools.mcp.plugin import plugin as mcp
    from sojourn.tools.plugin import plugin as tools

    _PLUGINS: tuple[Plugin, ...] = (
        sqlite,
        postgres,
        hermes,
        echo,
        native,
        models,
        offline,
        hermes_runtime,
        acp,
        claude_code,
        codex,
        opencode,
        sojourn_export,
        gemini,
        qwen,
        copilot,
        cline,
        continue_dev,
        crush,
        chatgpt,
        claude_ai,
        cursor,
        goose,
        pi,
        aider,
        antigravity,
        deepseek_harness,
        grok,
        kimi,
        librechat,
        llm_logs,
        mistral_vibe,
        open_webui,
        openclaw,
        opencode_export,
        openhands,
        zed,
        import_watch,
        rescue,
        tools,
        mcp,
        mcp_server,
        acp_server,
        sync,
        continuation,
        hooks,
        memory,
        skills,
        tasks,
        templates,
        hermes_achievements,
        local,
        api_server,
        telegram,
        discord,
        slack,
        matrix,
        email_,
        irc,
        ntfy,
        webhook,
        whatsapp,
        sms,
        bluebubbles,
        wecom_app,
        mattermost,
        homeassistant,
        xmpp,
        signal_,
        whatsapp_bridge,
        dingtalk,
        feishu,
        wecom,
        qqbot,
        weixin,
        yuanbao,
        msgraph_webhook,
        teams,
        gateway,
        schedules,
        http_,
        dashboard,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A plugin of ours.

    What it offers is repeated here only as far as start-up needs it: `sojourn --help` lists commands without importing
    a plugin, and a turn imports the plugins with runtimes, tools and context, but no platform.
    """

    name: str
    plugin: Lazy[Plugin]
    offers: tuple[str, ...] = ()  # which of sources, runtimes, platforms, tools and context the plugin has
    commands: Mapping[str, str] = field(default_factory=dict)  # name, and one line about it
    extra: str = ""  # the extra of our package that brings what the plugin needs


BUILT_INS = (
    BuiltIn(name="sqlite", plugin=Lazy("sojourn.stores.sqlite:plugin")),
    BuiltIn(name="postgres", plugin=Lazy("sojourn.stores.postgres:plugin"), extra="postgres"),
    BuiltIn(name="hermes", plugin=Lazy("sojourn.importers.hermes:plugin"), offers=("sources",)),
    BuiltIn(name="echo", plugin=Lazy("sojourn.runtimes.echo:plugin"), offers=("runtimes",)),
    BuiltIn(name="native", plugin=Lazy("sojourn.runtimes.native:plugin"), offers=("runtimes",)),
    BuiltIn(name="models", plugin=Lazy("sojourn.runtimes.models:plugin")),
    BuiltIn(
        name="offline",
        plugin=Lazy("sojourn.runtimes.offline:plugin"),
        offers=("runtimes",),
        commands={"model": "The small model that answers on this machine."},
    ),
    BuiltIn(name="hermes-runtime", plugin=Lazy("sojourn.runtimes.hermes:plugin"), offers=("runtimes",)),
    BuiltIn(name="acp", plugin=Lazy("sojourn.runtimes.acp:plugin"), offers=("runtimes",)),
    BuiltIn(name="claude-code", plugin=Lazy("sojourn.importers.claude_code:plugin"), offers=("sources",)),
    BuiltIn(name="codex", plugin=Lazy("sojourn.importers.codex:plugin"), offers=("sources",)),
    BuiltIn(name="opencode", plugin=Lazy("sojourn.importers.opencode:plugin"), offers=("sources",)),
    BuiltIn(name="sojourn-export", plugin=Lazy("sojourn.importers.sojourn_export:plugin"), offers=("sources",)),
    BuiltIn(name="gemini", plugin=Lazy("sojourn.importers.gemini:plugin"), offers=("sources",)),
    BuiltIn(name="qwen", plugin=Lazy("sojourn.importers.qwen:plugin"), offers=("sources",)),
    BuiltIn(name="copilot", plugin=Lazy("sojourn.importers.copilot:plugin"), offers=("sources",)),
    BuiltIn(name="chatgpt", plugin=Lazy("sojourn.importers.chatgpt:plugin"), offers=("sources",)),
    BuiltIn(name="claude-ai", plugin=Lazy("sojourn.importers.claude_ai:plugin"), offers=("sources",)),
    BuiltIn(name="cursor", plugin=Lazy("sojourn.importers.cursor:plugin"), offers=("sources",)),
    BuiltIn(name="goose", plugin=Lazy("sojourn.importers.goose:plugin"), offers=("sources",)),
    BuiltIn(name="pi", plugin=Lazy("sojourn.importers.pi:plugin"), offers=("sources",)),
    BuiltIn(name="cline", plugin=Lazy("sojourn.importers.cline:plugin"), offers=("sources",)),
    BuiltIn(name="continue", plugin=Lazy("sojourn.importers.continue_dev:plugin"), offers=("sources",)),
    BuiltIn(name="crush", plugin=Lazy("sojourn.importers.crush:plugin"), offers=("sources",)),
    BuiltIn(name="openclaw", plugin=Lazy("sojourn.importers.openclaw:plugin"), offers=("sources",)),
    BuiltIn(name="open-webui", plugin=Lazy("sojourn.importers.open_webui:plugin"), offers=("sources",)),
    BuiltIn(name="kimi", plugin=Lazy("sojourn.importers.kimi:plugin"), offers=("sources",)),
    BuiltIn(name="zed", plugin=Lazy("sojourn.importers.zed:plugin"), offers=("sources",)),
    BuiltIn(name="openhands", plugin=Lazy("sojourn.importers.openhands:plugin"), offers=("sources",)),
    BuiltIn(name="aider", plugin=Lazy("sojourn.importers.aider:plugin"), offers=("sources",)),
    BuiltIn(name="llm", plugin=Lazy("sojourn.importers.llm_logs:plugin"), offers=("sources",)),
    BuiltIn(name="librechat", plugin=Lazy("sojourn.importers.librechat:plugin"), offers=("sources",)),
    BuiltIn(name="opencode-export", plugin=Lazy("sojourn.importers.opencode.export:plugin"), offers=("sources",)),
    BuiltIn(name="mistral-vibe", plugin=Lazy("sojourn.importers.mistral_vibe:plugin"), offers=("sources",)),
    BuiltIn(name="grok", plugin=Lazy("sojourn.importers.grok:plugin"), offers=("sources",)),
    BuiltIn(name="deepseek-harness", plugin=Lazy("sojourn.importers.deepseek_harness:plugin"), offers=("sources",)),
    BuiltIn(name="import-watch", plugin=Lazy("sojourn.importers.watch:plugin")),
    BuiltIn(
        name="rescue",
        plugin=Lazy("sojourn.importers.rescue:plugin"),
        commands={"rescue": "Rebuild sessions that another program deleted."},
    ),
    BuiltIn(name="antigravity", plugin=Lazy("sojourn.importers.antigravity:plugin"), offers=("sources",)),
    BuiltIn(name="tools", plugin=Lazy("sojourn.tools.plugin:plugin"), offers=("tools", "context")),
    BuiltIn(name="mcp", plugin=Lazy("sojourn.tools.mcp.plugin:plugin"), offers=("tools",)),
    BuiltIn(
        name="mcp-server",
        plugin=Lazy("sojourn.mcp_server.plugin:plugin"),
        commands={"mcp": "Give other agents your sessions and your memory, over MCP."},
    ),
    BuiltIn(
        name="acp-server",
        plugin=Lazy("sojourn.acp_server.plugin:plugin"),
        commands={"acp": "Be an agent for Zed and other editors."},
    ),
    BuiltIn(
        name="sync",
        plugin=Lazy("sojourn.sync.plugin:plugin"),
        commands={"sync": "Bring the sessions of several machines together, through a folder."},
    ),
    BuiltIn(
        name="continuation",
        plugin=Lazy("sojourn.continuation.plugin:plugin"),
        commands={"continue": "Go on with a session in another program, and come back."},
    ),
    BuiltIn(
        name="hooks",
        plugin=Lazy("sojourn.hooks.plugin:plugin"),
        offers=("runtimes",),
        commands={"hooks": "Answer other agents' questions here: in the dashboard and in chats."},
    ),
    BuiltIn(
        name="memory",
        plugin=Lazy("sojourn.context.plugin:memory"),
        offers=("context",),
        commands={
            "memory": "The facts that are remembered, and why something was recalled.",
            "ask": "Ask everything that was said; the answer stands on quotes.",
        },
    ),
    BuiltIn(
        name="skills",
        plugin=Lazy("sojourn.context.plugin:skills"),
        offers=("context",),
        commands={"skills": "The skills there are, and which ones a request would bring up."},
    ),
    BuiltIn(name="tasks", plugin=Lazy("sojourn.context.plugin:tasks"), offers=("context",)),
    BuiltIn(
        name="templates",
        plugin=Lazy("sojourn.templates.plugin:plugin"),
        offers=("context",),
        commands={"templates": "Calls that worked before, ready for the next session."},
    ),
    BuiltIn(
        name="hermes-achievements",  # the address of its routes, which other programs know
        plugin=Lazy("sojourn.achievements.plugin:plugin"),
        commands={"achievements": "The badges your history has earned."},
    ),
    BuiltIn(name="local", plugin=Lazy("sojourn.platforms.local:plugin"), offers=("platforms",)),
    BuiltIn(name="api_server", plugin=Lazy("sojourn.platforms.api_server:plugin"), offers=("platforms",)),
    BuiltIn(name="telegram", plugin=Lazy("sojourn.platforms.telegram:plugin"), offers=("platforms",), extra="telegram"),
    BuiltIn(name="discord", plugin=Lazy("sojourn.platforms.discord:plugin"), offers=("platforms",), extra="discord"),
    BuiltIn(name="slack", plugin=Lazy("sojourn.platforms.slack:plugin"), offers=("platforms",), extra="slack"),
    BuiltIn(name="matrix", plugin=Lazy("sojourn.platforms.matrix:plugin"), offers=("platforms",), extra="matrix"),
    BuiltIn(name="email", plugin=Lazy("sojourn.platforms.email:plugin"), offers=("platforms",), extra="email"),
    BuiltIn(name="irc", plugin=Lazy("sojourn.platforms.irc:plugin"), offers=("platforms",)),
    BuiltIn(name="ntfy", plugin=Lazy("sojourn.platforms.ntfy:plugin"), offers=("platforms",)),
    BuiltIn(name="webhook", plugin=Lazy("sojourn.platforms.webhook:plugin"), offers=("platforms",)),
    BuiltIn(
        name="mattermost", plugin=Lazy("sojourn.platforms.mattermost:plugin"), offers=("platforms",), extra="mattermost"
    ),
    BuiltIn(
        name="homeassistant",
        plugin=Lazy("sojourn.platforms.homeassistant:plugin"),
        offers=("platforms",),
        extra="homeassistant",
    ),
    BuiltIn(name="xmpp", plugin=Lazy("sojourn.platforms.xmpp:plugin"), offers=("platforms",), extra="xmpp"),
    BuiltIn(name="whatsapp", plugin=Lazy("sojourn.platforms.whatsapp:plugin"), offers=("platforms",), extra="whatsapp"),
    BuiltIn(name="sms", plugin=Lazy("sojourn.platforms.sms:plugin"), offers=("platforms",), extra="sms"),
    BuiltIn(
        name="bluebubbles",
        plugin=Lazy("sojourn.platforms.bluebubbles:plugin"),
        offers=("platforms",),
        extra="bluebubbles",
    ),
    BuiltIn(
        name="wecom_app", plugin=Lazy("sojourn.platforms.wecom_app:plugin"), offers=("platforms",), extra="wecom-app"
    ),
    BuiltIn(name="signal", plugin=Lazy("sojourn.platforms.signal:plugin"), offers=("platforms",), extra="signal"),
    BuiltIn(name="whatsapp_bridge", plugin=Lazy("sojourn.platforms.whatsapp_bridge:plugin"), offers=("platforms",)),
    BuiltIn(name="dingtalk", plugin=Lazy("sojourn.platforms.dingtalk:plugin"), offers=("platforms",), extra="dingtalk"),
    BuiltIn(name="feishu", plugin=Lazy("sojourn.platforms.feishu:plugin"), offers=("platforms",), extra="feishu"),
    BuiltIn(name="wecom", plugin=Lazy("sojourn.platforms.wecom:plugin"), offers=("platforms",), extra="wecom"),
    BuiltIn(name="qqbot", plugin=Lazy("sojourn.platforms.qqbot:plugin"), offers=("platforms",), extra="qqbot"),
    BuiltIn(name="weixin", plugin=Lazy("sojourn.platforms.weixin:plugin"), offers=("platforms",), extra="weixin"),
    BuiltIn(name="yuanbao", plugin=Lazy("sojourn.platforms.yuanbao:plugin"), offers=("platforms",), extra="yuanbao"),
    BuiltIn(
        name="msgraph_webhook",
        plugin=Lazy("sojourn.platforms.msgraph_webhook:plugin"),
        offers=("platforms",),
        extra="msgraph-webhook",
    ),
    BuiltIn(name="teams", plugin=Lazy("sojourn.platforms.teams:plugin"), offers=("platforms",), extra="teams"),
    BuiltIn(
        name="gateway",
        plugin=Lazy("sojourn.gateway.plugin:plugin"),
        commands={
            "gateway": "Talk to your sessions from chat networks.",
            "handoff": "Hand a session over to a chat network.",
        },
    ),
    BuiltIn(
        name="schedules",
        plugin=Lazy("sojourn.schedules:plugin"),
        commands={"schedule": "Prompts that run by themselves."},
    ),
    BuiltIn(
        name="http",
        plugin=Lazy("sojourn.http:plugin"),
        commands={
            "serve": "Serve your sessions over HTTP.",
            "dashboard": "Serve your sessions, and open them in a browser.",
            "server": "The running server: show it, stop it, start it again.",
            "token": "The access token: show it, or replace it.",
            "browsers": "The browsers that are signed in.",
        },
    ),
    BuiltIn(name="dashboard", plugin=Lazy("sojourn.dashboard:plugin")),
)

"""The real agents from npm and PyPI, each with a home of its own and the scripted model behind it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from sojourn.testing.model_server import ModelServer
from tests.servers.whatsapp_bridge import find_node

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent / "agents"
MODEL = "scripted-1"
NAMES = ("claude", "codex", "gemini", "opencode", "qwen", "pi", "hermes")
_SECONDS = 240


def install_packages(folder: Path = HERE) -> Path:
    """The packages, in `node_modules` beside their list; installed again when the list changes."""
    wanted, made = folder / "package.json", folder / "node_modules" / "made-from.json"
    if not made.exists() or made.read_bytes() != wanted.read_bytes():
        environment = {**os.environ, "PATH": f"{Path(find_node()).parent}:{os.environ['PATH']}"}
        command = ["npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=folder, env=environment, check=True)
        shutil.copy(wanted, made)
    return folder / "node_modules"


class AgentPrograms:
    """The programs of one person: a home, a folder with the programs on the path, and a project."""

    def __init__(self, folder: Path, model: ModelServer, packages: Path = HERE) -> None:
        self.home, self.project, self._bin, self._model = folder, folder / "project", folder / "bin", model
        self._packages = packages  # the folder of their list
        self.project.mkdir()
        self._bin.mkdir()
        (self.project / "notes.txt").write_text("Buy milk.\n")
        node = str(Path(find_node()).parent)
        self.environment = {"PATH": f"{self._bin}:{node}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
        self.environment |= {"TERM": "dumb", "SOJOURN_HOME": str(folder / ".sojourn")}

    def set_up(self, name: str) -> None:
        """Puts a program on the path, and configures it for the scripted model."""
        starter = self._bin / name
        words = " ".join(f"'{word}'" for word in _find_command(name, self._packages))
        starter.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        starter.chmod(0o755)
        getattr(self, f"_set_up_{name}")()

    def _write(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _set_up_claude(self) -> None:
        self.environment |= {
            "ANTHROPIC_BASE_URL": self._model.origin,
            "ANTHROPIC_API_KEY": "sk-local-not-a-secret",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

    def _set_up_codex(self) -> None:
        self.environment["LOCAL_KEY"] = "none"
        self._write(
            ".codex/config.toml",
            f"""
            model = "{MODEL}"
            model_provider = "scripted"
            check_for_update_on_startup = false
            approval_policy = "never"
            sandbox_mode = "danger-full-access"
            analytics.enabled = false
            [model_providers.scripted]
            name = "Scripted"
            base_url = "{self._model.url}"
            env_key = "LOCAL_KEY"
            wire_api = "responses"
            request_max_retries = 0
            stream_max_retries = 0
            [projects."{self.project}"]
            trust_level = "trusted"
            """,
        )

    def _set_up_gemini(self) -> None:
        self.environment |= {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self._model.origin,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True},
        }
        self._write(".gemini/settings.json", json.dumps(settings))

    def _set_up_opencode(self) -> None:
        for name in ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD"):
            self.environment[f"OPENCODE_DISABLE_{name}"] = "1"
        limit = {"context": 150_000, "output": 4000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": self._model.url, "apiKey": "none"},
            "models": {MODEL: {"name": "Scripted", "tool_call": True, "reasoning": True, "limit": limit}},
        }
        config = {"autoupdate": False, "share": "disabled", "model": f"scripted/{MODEL}"}
        config |= {"small_model": f"scripted/{MODEL}", "provider": {"scripted": provider}}
        self._write(".config/opencode/opencode.json", json.dumps(config))

    def _set_up_qwen(self) -> None:
        self.environment |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": self._model.url, "OPENAI_MODEL": MODEL}

    def _set_up_pi(self) -> None:
        self.environment["PI_OFFLINE"] = "1"
        provider = {
            "baseUrl": self._model.url,
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": MODEL}],
        }
        self._write(".pi/agent/models.json", json.dumps({"providers": {"scripted": provider}}))

    def _set_up_hermes(self) -> None:
        self.environment["PATH"] = f"{self._bin}:{ROOT / '.venv-hermes' / 'bin'}:/usr/bin:/bin"
        seen = {"ts": 4102444800, "behind": 0, "rev": None, "ver": "0.19.0"}
        self._write(".hermes/.update_check", json.dumps(seen))
        self._write(
            ".hermes/config.yaml",
            f"model: {{provider: custom, default: {MODEL}, base_url: {self._model.url}, api_key: none, "
            "context_length: 131072}\n"
            "security: {allow_lazy_installs: false, tirith_enabled: false}\n"
            "model_catalog: {enabled: false}\nagent: {api_max_retries: 1}\n",
        )
        self.run([str(self._bin / "hermes"), "sessions", "list"])  # makes its database

    def begin(self, name: str, prompt: str) -> str:
        """Begins a session, without a terminal; returns what it printed."""
        command = {
            "claude": ["-p", prompt, "--model", "claude-sonnet-4-5"],
            "codex": ["exec", "--skip-git-repo-check", prompt],
            "gemini": ["-m", "gemini-2.5-pro", "-p", prompt],
            "opencode": ["run"],
            "qwen": ["--auth-type", "openai", "-p", prompt],
            "pi": ["--provider", "scripted", "--model", MODEL, "-p", prompt],
            "hermes": ["chat", "-Q", "-q", prompt],
        }[name]
        return self.run([str(self._bin / name), *command], said=prompt if name == "opencode" else "")

    def resume(self, name: str, native_id: str, prompt: str) -> str:
        """Goes on with a session by the program's own means, without a terminal; returns what it printed."""
        command = {
            "claude": ["--resume", native_id, "-p", prompt, "--model", "claude-sonnet-4-5"],
            "codex": ["exec", "--skip-git-repo-check", "resume", native_id, prompt],
            "gemini": ["--resume", native_id, "-m", "gemini-2.5-pro", "-p", prompt],
            "opencode": ["run", "--session", native_id],  # it would put quotation marks around an argument
            "qwen": ["--resume", native_id, "--auth-type", "openai", "-p", prompt],
            "pi": ["--session", native_id, "--provider", "scripted", "--model", MODEL, "-p", prompt],
            "hermes": ["chat", "-Q", "-q", prompt, "--resume", native_id],
        }[name]
        return self.run([str(self._bin / name), *command], said=prompt if name == "opencode" else "")

    def run(self, command: list[str], *, check: bool = True, said: str = "") -> str:
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        return done.stdout if check else done.stdout + done.stderr

    def sojourn(self, *words: str, check: bool = True) -> str:
        return self.run([str(Path(sys.executable).with_name("sojourn")), *words], check=check)


def _find_command(name: str, folder: Path) -> list[str]:
    if name == "hermes":
        subprocess.run([ROOT / "scripts" / "peer"], check=True)
        return [str(ROOT / ".venv-hermes" / "bin" / "python"), str(ROOT / ".venv-hermes" / "bin" / "hermes")]
    packages = install_packages(folder)
    native = {
        "claude": "@anthropic-ai/claude-code-linux-x64/claude",
        "codex": "@openai/codex-linux-x64/vendor/*/bin/codex",
        "opencode": "opencode-linux-x64/bin/opencode",
    }
    if name in native:
        return [str(next(packages.glob(native[name])))]
    script = {
        "gemini": "@google/gemini-cli/bundle/gemini.js",
        "qwen": "@qwen-code/qwen-code/cli.js",
        "pi": "@earendil-works/pi-coding-agent/dist/cli.js",
    }[name]
    return [str(next(packages.glob("node-*/bin/node"))), str(packages / script)]

"""OS service: the unit, plist or task that keeps `sojourn serve` running, and the commands that install it."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

NAME = "sojourn"
LABEL = "org.sojourn.server"
Manager = Literal["systemd", "launchd", "windows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """What runs: the program with its arguments, its home, and the PATH that its tools are found on."""

    command: tuple[str, ...]
    home: Path
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePlan:
    """The file that a service manager reads, and the commands around it."""

    manager: Manager
    file: Path
    content: bytes
    install: tuple[tuple[str, ...], ...]
    uninstall: tuple[tuple[str, ...], ...]
    status: tuple[str, ...]
    hint: str = ""
    is_tried: bool = True  # whether we have run it on such a system


def choose_manager(platform: str) -> Manager:
    """The service manager of a system, by `sys.platform`."""
    return "launchd" if platform == "darwin" else "windows" if platform == "win32" else "systemd"


def build_plan(manager: Manager, spec: ServiceSpec, user_home: Path, user_id: int = 0) -> ServicePlan:
    """What to write and what to call for one service manager."""
    if manager == "systemd":
        return _plan_systemd(spec, user_home)
    if manager == "launchd":
        return _plan_launchd(spec, user_home, user_id)
    return _plan_windows(spec)


def _plan_systemd(spec: ServiceSpec, user_home: Path) -> ServicePlan:
    control = ("systemctl", "--user")
    unit = f"{NAME}.service"
    return ServicePlan(
        manager="systemd",
        file=user_home / ".config" / "systemd" / "user" / unit,
        content=build_systemd_unit(spec).encode(),
        install=((*control, "daemon-reload"), (*control, "enable", "--now", unit)),
        uninstall=((*control, "disable", "--now", unit),),
        status=(*control, "--no-pager", "status", unit),
        hint="It runs while you are logged in; `loginctl enable-linger` lets it run from the start of the machine.",
    )


def build_systemd_unit(spec: ServiceSpec) -> str:
    """The user unit. It starts again after a crash, not after a requested stop."""
    environment = {"SOJOURN_HOME": str(spec.home)} | ({"PATH": spec.path} if spec.path else {})
    return "\n".join(
        [
            "[Unit]",
            "Description=Sojourn: one agent session, everywhere",
            "After=network.target",
            "StartLimitIntervalSec=60",
            "StartLimitBurst=5",
            "",
            "[Service]",
            "Type=exec",
            f"ExecStart={' '.join(_quote_systemd(word).replace('$', '$$') for word in spec.command)}",
            *(f"Environment={_quote_systemd(f'{name}={value}')}" for name, value in environment.items()),
            "WorkingDirectory=%h",
            "Restart=on-failure",
            "RestartSec=2",
            "TimeoutStopSec=30",
            "UMask=0077",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


def _quote_systemd(word: str) -> str:
    """A word as systemd reads it: quoted, with its specifiers escaped. In a command, `$` is escaped too."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{text}"'


def _plan_launchd(spec: ServiceSpec, user_home: Path, user_id: int) -> ServicePlan:
    file = user_home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    domain = f"gui/{user_id}"
    return ServicePlan(
        manager="launchd",
        file=file,
        content=build_launchd_plist(spec),
        install=(("launchctl", "bootstrap", domain, str(file)),),
        uninstall=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        status=("launchctl", "print", f"{domain}/{LABEL}"),
        is_tried=False,
    )


def build_launchd_plist(spec: ServiceSpec) -> bytes:
    """The launch agent. It starts with the login and again after a crash."""
    log = str(spec.home / "logs" / "service.log")
    environment: Mapping[str, str] = {"SOJOURN_HOME": str(spec.home)} | ({"PATH": spec.path} if spec.path else {})
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(spec.command),
            "EnvironmentVariables": dict(environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 5,
            "Umask": 0o077,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    )


def _plan_windows(spec: ServiceSpec) -> ServicePlan:
    file = spec.home / "service-task.xml"
    return ServicePlan(
        manager="windows",
        file=file,
        content=build_windows_task(spec).encode("utf-16"),
        install=(("schtasks", "/Create", "/TN", NAME, "/XML", str(file), "/F"), ("schtasks", "/Run", "/TN", NAME)),
        uninstall=(("schtasks", "/End", "/TN", NAME), ("schtasks", "/Delete", "/TN", NAME, "/F")),
        status=("schtasks", "/Query", "/TN", NAME, "/V", "/FO", "LIST"),
        is_tried=False,
    )


def build_windows_task(spec: ServiceSpec) -> str:
    """The task of Windows' task scheduler. It starts with the login and again after a crash."""
    program, *arguments = spec.command
    return f"""<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.3" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Sojourn: one agent session, everywhere</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
  </Settings>
  <Actions>
    <Exec>
      <Command>{escape(program)}</Command>
      <Arguments>{escape(" ".join(_quote_windows(word) for word in arguments))}</Arguments>
    </Exec>
  </Actions>
</Task>
"""


def _quote_windows(word: str) -> str:
    """A word as `CommandLineToArgvW` reads it."""
    if word and not any(sign in word for sign in ' \t"'):
        return word
    quoted, slashes = '"', 0
    for sign in word:
        if sign == "\\":
            slashes += 1
            continue
        quoted += "\\" * (slashes * 2 + 1 if sign == '"' else slashes) + sign
        slashes = 0
    return quoted + "\\" * (slashes * 2) + '"'


def list_words(commands: Sequence[Sequence[str]]) -> list[str]:
    """Commands as a person types them."""
    return [" ".join(one) for one in commands]

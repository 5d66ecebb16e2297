"""The files of service managers: their form, and hostile characters in paths."""

import plistlib
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from sojourn.os_service import LABEL, ServiceSpec, build_plan, choose_manager
from tests.servers.system_package import require_program

ODD = Path('/tmp/a b/50% "q" $HOME \\n')
SPEC = ServiceSpec(
    command=("/usr/bin/python3", "-m", "sojourn", "--home", "/home/me/.sojourn", "serve"), home=Path("/h")
)


def plan(manager, spec=SPEC):
    return build_plan(manager, spec, Path("/home/me"), 501)


def test_each_system_has_its_manager():
    assert [choose_manager(one) for one in ("linux", "darwin", "win32")] == ["systemd", "launchd", "windows"]
    assert [plan(one).is_tried for one in ("systemd", "launchd", "windows")] == [True, False, False]


@pytest.mark.parametrize("folder", [Path("/home/me/.sojourn"), ODD])
def test_systemd_accepts_the_unit(tmp_path, folder):
    spec = ServiceSpec(command=("/bin/true", "-m", "sojourn", "--home", str(folder), "serve"), home=folder, path="/bin")
    made = plan("systemd", spec)
    unit = tmp_path / made.file.name
    unit.write_bytes(made.content)
    verify = require_program("systemd", "systemd-analyze")
    done = subprocess.run(
        [verify, "verify", "--user", str(unit)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    complaints = [line for line in done.stderr.splitlines() if "sojourn" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr
    assert made.file == Path("/home/me/.config/systemd/user/sojourn.service")


def test_systemd_reads_every_character_of_a_path_as_it_is():
    line = next(
        one
        for one in plan("systemd", ServiceSpec(command=(str(ODD),), home=ODD)).content.decode().splitlines()
        if one.startswith("ExecStart")
    )
    assert line == 'ExecStart="/tmp/a b/50%% \\"q\\" $$HOME \\\\n"'


def test_the_launch_agent_is_a_plist_with_every_word_as_it_is():
    made = plan("launchd", ServiceSpec(command=("python", str(ODD)), home=ODD, path="/bin"))
    read = plistlib.loads(made.content)
    assert (read["Label"], read["ProgramArguments"][1], read["KeepAlive"]) == (
        LABEL,
        str(ODD),
        {"SuccessfulExit": False},
    )
    assert made.install == (("launchctl", "bootstrap", "gui/501", str(made.file)),)


def test_the_windows_task_is_xml_and_quotes_words_as_windows_reads_them():
    made = plan(
        "windows", ServiceSpec(command=("C:\\py thon.exe", "-m", "a b", 'q"x', "end\\", "e nd\\"), home=Path("/h"))
    )
    root = ElementTree.fromstring(made.content.decode("utf-16").split("?>", 1)[1])
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    assert root.find(f".//{space}Command").text == "C:\\py thon.exe"
    assert root.find(f".//{space}Arguments").text == '-m "a b" "q\\"x" end\\ "e nd\\\\"'

"""The achievements page as a plugin script, in a host that brings its own React."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOST = """
const React = require("react"), { renderToString } = require("react-dom/server");
const registered = {};
globalThis.document = { hidden: false };
globalThis.location = { search: "", pathname: "/achievements" };
globalThis.window = {
  __HERMES_PLUGIN_SDK__: { React, fetchJSON: () => new Promise(() => undefined) },
  __HERMES_PLUGINS__: { register: (name, component) => { registered[name] = component; } },
};
require("vm").runInThisContext(require("fs").readFileSync(process.argv[2], "utf8"));
const html = renderToString(React.createElement(registered["hermes-achievements"]));
console.log(JSON.stringify({ names: Object.keys(registered), html }));
"""


def test_the_script_registers_and_draws_with_the_hosts_react(tmp_path):
    (tmp_path / "host.cjs").write_text(HOST)
    node = subprocess.run(
        [ROOT / "scripts" / "web", "--node"], capture_output=True, text=True, check=True
    ).stdout.strip()
    script = files("sojourn.achievements") / "dropin" / "dist" / "index.js"
    ran = subprocess.run(
        [f"{node}/node", tmp_path / "host.cjs", str(script)],
        capture_output=True,
        text=True,
        env={"NODE_PATH": str(ROOT / "web" / "node_modules"), "NODE_ENV": "production"},
    )
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["names"] == ["hermes-achievements"]
    assert "Achievements" in said["html"]
    assert "ach-skeleton" in said["html"]


CREDIT = "/*! Original plugin: hermes-achievements by PCinkusz, MIT, https://github.com/PCinkusz/hermes-achievements */"


@pytest.mark.parametrize("name", ["index.js", "style.css"])
def test_the_built_files_begin_with_the_credit_line_and_name_no_other_host(name):
    text = (files("sojourn.achievements") / "dropin" / "dist" / name).read_text("utf-8")
    assert text.splitlines()[0] == CREDIT
    others = text.replace(CREDIT, "")
    assert "http://" not in others
    assert "https://" not in others


@pytest.mark.parametrize("name", ["AchievementsPanel.tsx", "achievements.css"])
def test_the_sources_of_the_page_carry_the_credit_line(name):
    source = ROOT / "web" / "src" / "achievements" / name
    assert source.read_text("utf-8").splitlines()[0] == CREDIT

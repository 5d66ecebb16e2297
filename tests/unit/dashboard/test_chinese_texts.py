"""Every text that the server sends with a fixed wording has a Chinese translation in `web/src/serverTexts/zh`."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

import sojourn
from sojourn import chat_commands, config
from sojourn.achievements.metrics import LISTED_TOTALS, TIER_NAMES, TOTALS
from sojourn.achievements.rules import load_badges
from sojourn.achievements.service import ScanFailed
from sojourn.app import App
from sojourn.core.errors import SojournError
from sojourn.gateway.network_setup import list_networks
from sojourn.sandbox import guarantees
from sojourn.settings.table import SETTINGS
from sojourn.tools.sensitive_paths import RUNS_LATER, SECRET

SOURCES = Path(sojourn.__file__).parent
TEXTS = SOURCES.parent / "web" / "src" / "serverTexts" / "zh"
HTTP_CODES = ("no_route", "too_large", "internal", "unknown")  # of the HTTP edge, and of the pages themselves


def read(name):
    return json.loads((TEXTS / f"{name}.json").read_text("utf-8"))


def list_error_codes():
    known = [SojournError, ScanFailed]
    for kind in known:
        known += kind.__subclasses__()
    return {kind.code for kind in known} | set(HTTP_CODES)


def list_danger_reasons():
    rules = tomllib.loads((SOURCES / "tools" / "danger" / "rules.toml").read_text("utf-8"))
    return {row["why"] for row in rules["danger"]} | {why for _, why in SECRET + RUNS_LATER}


def list_question_texts():
    """The texts of `Question(text=…)` that stand in the sources as they are; `{…}` for what varies."""
    for file in sorted((SOURCES / "tools").rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Question":
                texts = [word.value for word in call.keywords if word.arg == "text"]
                yield from (one for one in map(to_template, texts) if one)


def to_template(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(one.value if isinstance(one, ast.Constant) else "{…}" for one in node.values)
    return ""


def missing(wanted, known):
    return sorted(set(wanted) - set(known))


def test_badges_categories_tiers_and_totals_are_translated():
    texts, badges = read("badges"), load_badges()
    assert missing((one.id for one in badges), texts["badges"]) == []
    assert missing((one.category for one in badges), texts["categories"]) == []
    assert missing(TIER_NAMES, texts["tiers"]) == []
    assert missing([*(one.key for one in TOTALS), *LISTED_TOTALS], texts["totals"]) == []


def test_settings_errors_and_commands_are_translated():
    assert missing((one.name for one in SETTINGS), read("settings")) == []
    assert missing(list_error_codes(), read("errors")) == []
    assert missing(chat_commands.COMMANDS, read("commands")) == []


def test_networks_and_plugins_are_translated(home):
    app = App(config.follow({"home": str(home)}))
    networks = read("networks")
    fields = [(one.name, field) for one in list_networks(app) for field in one.fields]
    names = {f"{name}.{field.name}" for name, field in fields}
    explained = {f"{name}.{field.name}" for name, field in fields if field.where}
    assert [one for one in names if not {one, f"*.{one.partition('.')[2]}"} & set(networks)] == []
    assert {one for one in networks if not one.startswith("*")} == explained
    assert missing((one.name for one in app.plugins()), read("plugins")) == []


def test_questions_and_their_reasons_are_translated():
    sentences, reasons = read("sentences"), read("reasons")
    assert missing(list_danger_reasons(), reasons) == []
    assert (
        missing((vars(guarantees)[name] for name in vars(guarantees) if re.fullmatch("_[A-Z]+", name)), sentences) == []
    )
    shapes = {re.sub(r"\{\w+\}", "{…}", one) for one in sentences}
    asked = [one for text in list_question_texts() for one in re.split(r"(?<=[.?!}]) (?=[A-Z])", text) if one != "{…}"]
    assert asked
    assert missing(asked, shapes) == []


@pytest.mark.parametrize("name", sorted(one.stem for one in TEXTS.glob("*.json")))
def test_nothing_is_translated_that_is_not_there_and_no_placeholder_is_lost(name):
    def check(english, chinese):
        for one in chinese if isinstance(chinese, list) else [chinese]:
            assert re.search(r"[\u4e00-\u9fff]|^[\x00-\x7f]*$", one), english
            assert set(re.findall(r"\{\w+\}", one)) <= set(re.findall(r"\{\w+\}", english)), english

    for english, chinese in read(name).items():
        for key, text in chinese.items() if isinstance(chinese, dict) else [(english, chinese)]:
            check(key, text)

"""Writes NOTICE: the licences of the JavaScript packages whose code is in the built pages.

    python -m scripts.notice

Reads `web/package-lock.json` and `web/node_modules`; run it after a change of the packages.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTICE = ROOT / "NOTICE"
LOCK = ROOT / "web" / "package-lock.json"
_HEAD = """Sojourn is under the MIT licence (LICENSE). The pages of its dashboard contain code of these packages:

"""


def list_packages(lock: str) -> Iterator[tuple[str, str, str]]:
    """Folder, name and version of each package that is more than a tool for building."""
    for folder, about in sorted(json.loads(lock)["packages"].items()):
        name = folder.rpartition("node_modules/")[2]
        is_built_in = not any(about.get(word) for word in ("dev", "optional", "devOptional", "peer"))
        if name and is_built_in and not name.startswith("@types/"):
            yield folder, name, about["version"]


def find_licence(folder: Path) -> tuple[str, str]:
    """The licence's name and its text, as the package has them."""
    about = json.loads((folder / "package.json").read_text("utf-8"))
    files = sorted(
        one for one in folder.iterdir() if one.name.lower().startswith(("licen", "copying")) and one.is_file()
    )
    text = files[0].read_text("utf-8").replace("\r\n", "\n").strip() if files else ""
    author = about.get("author") or "its authors"
    return str(
        about.get("license") or "see below"
    ), text or f"Copyright: {author['name'] if isinstance(author, dict) else author}"


def render_notice(lock: str, web: Path) -> str:
    lines, texts = [], defaultdict(list)
    for folder, name, version in list_packages(lock):
        licence, text = find_licence(web / folder)
        lines.append(f"- {name} {version}: {licence}")
        texts[text].append(name)
    parts = [f"{'=' * 78}\n{', '.join(sorted(set(names)))}\n\n{text}\n" for text, names in texts.items()]
    return _HEAD + "\n".join(lines) + "\n\n" + "\n".join(parts)


def main() -> int:
    NOTICE.write_text(render_notice(LOCK.read_text("utf-8"), ROOT / "web"), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

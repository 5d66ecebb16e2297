"""The server's proof: it has the token, at this address. A client asks for it before it sends its own token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from sojourn.core.errors import NotAllowed
from sojourn.http.dependencies import AccessTokenDep, problem_responses
from sojourn.http.host_names import is_loopback
from sojourn.server_file import NONCE_PATTERN, PROOF_PATH, build_proof, to_plain_address

router = APIRouter(tags=["status"])


class Proof(BaseModel):
    """HMAC-SHA256 of the client's nonce and of the address it reached, under the token."""

    proof: str = Field(description="In hexadecimal digits.")


@router.get(PROOF_PATH, summary="Prove that this server has the token", responses=problem_responses(401))
async def prove(
    request: Request,
    access: AccessTokenDep,
    nonce: Annotated[str, Query(pattern=NONCE_PATTERN, description="64 random hexadecimal digits.")],
) -> Proof:
    """Needs no token. Only for programs on this machine: whoever has a proof could try out tokens against it.

    The address is that of the connection, never what the request says, so no program on another port can pass it on.
    """
    here, there = request.scope.get("server"), request.client
    if not here or not there or not _is_this_machine(there.host, here[0]):
        raise NotAllowed("A proof is only for programs on this machine.", hint="Send the token from there.")
    return Proof(proof=build_proof(access.value, nonce, here))


def _is_this_machine(client: str, server: str) -> bool:
    """Whether a connection comes from the machine that it goes to."""
    client = to_plain_address(client)
    return is_loopback(client) or client == to_plain_address(server)

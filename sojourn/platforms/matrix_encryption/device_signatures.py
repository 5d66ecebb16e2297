"""Cross-signing: a person's identity signs their devices. Reads the identities of others, and makes our own.

A master key signs a self-signing key, which signs the devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa
from nio.api import Api
from unpaddedbase64 import encode_base64
from vodozemac import Ed25519PublicKey, Ed25519Signature

from sojourn.platforms.json_values import read_object, read_text

USES = ("master", "self_signing", "user_signing")


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningIdentity:
    """The public keys of a person's identity, whose signatures were checked."""

    master: str
    self_signing: str

    def has_signed(self, user: str, device: Mapping[str, Any]) -> bool:
        """Whether a device, as the server describes it, is signed by this identity."""
        return _is_signed_by(device, user, self.self_signing)


def keep_readable(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A server's answer to a key query without the devices of another form: one of them would cost us the answer about
    everybody. Other servers say what they like about their people."""
    if not isinstance(answer.get("device_keys"), dict):
        return dict(answer)  # an error
    users = {user: read_object(answer["device_keys"], user) for user in answer["device_keys"]}
    readable = {user: {id: one for id, one in found.items() if _is_readable(one)} for user, found in users.items()}
    return {**answer, "device_keys": readable}


def _is_readable(device: object) -> bool:
    if not isinstance(device, dict) or not isinstance(device.get("unsigned", {}), dict):
        return False
    keys, signatures, algorithms = (device.get(one) for one in ("keys", "signatures", "algorithms"))
    has_names = bool(read_text(device, "user_id") and read_text(device, "device_id"))
    has_algorithms = isinstance(algorithms, list) and all(isinstance(one, str) for one in algorithms)
    has_signatures = isinstance(signatures, dict) and all(map(_has_texts, signatures.values()))
    return has_names and has_algorithms and _has_texts(keys) and has_signatures


def _has_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def find_identity(answer: Mapping[str, Any], user: str) -> SigningIdentity | None:
    """The identity of a user in a server's answer to a key query; None for one without, or with a forged one."""
    master = _find_public_key(answer, "master", user)
    self_signing = _find_public_key(answer, "self_signing", user)
    if not master or not self_signing:
        return None
    if not _is_signed_by(answer["self_signing_keys"][user], user, master):
        return None
    return SigningIdentity(master=master, self_signing=self_signing)


def _find_public_key(answer: Mapping[str, Any], use: str, user: str) -> str:
    key = read_object(read_object(answer, f"{use}_keys"), user)
    usage, values = key.get("usage"), list(read_object(key, "keys").values())
    is_right = key.get("user_id") == user and isinstance(usage, list) and use in usage and len(values) == 1
    return str(values[0]) if is_right else ""


def _is_signed_by(signed: Mapping[str, Any], user: str, public: str) -> bool:
    signature = read_text(read_object(read_object(signed, "signatures"), user), f"ed25519:{public}")
    try:
        key = Ed25519PublicKey.from_base64(public)
        key.verify_signature(_canonical(signed), Ed25519Signature.from_base64(signature))
    except ValueError:  # of any of the three
        return False
    return True


def _canonical(signed: Mapping[str, Any]) -> bytes:
    bare = {name: value for name, value in signed.items() if name not in ("signatures", "unsigned")}
    return str(Api.to_canonical_json(bare)).encode()


class OwnIdentity:
    """The secret keys of our own identity."""

    def __init__(self, user: str, seeds: Mapping[str, bytes]) -> None:
        self._user = user
        self._keys = {use: ECC.construct(curve="Ed25519", seed=seeds[use]) for use in USES}

    @property
    def master(self) -> str:
        return self._public("master")

    def _public(self, use: str) -> str:
        return str(encode_base64(self._keys[use].public_key().export_key(format="raw")))

    def build_upload(self) -> dict[str, Any]:
        """The public keys, signed by the master key."""
        keys = {}
        for use in USES:
            public = self._public(use)
            key = {"user_id": self._user, "usage": [use], "keys": {f"ed25519:{public}": public}}
            keys[f"{use}_key"] = key if use == "master" else self._sign(key, "master")
        return keys

    def sign_device(self, device: Mapping[str, Any]) -> dict[str, Any]:
        return self._sign(device, "self_signing")

    def _sign(self, value: Mapping[str, Any], use: str) -> dict[str, Any]:
        signature = eddsa.new(self._keys[use], "rfc8032").sign(_canonical(value))
        bare = {name: one for name, one in value.items() if name != "unsigned"}
        return {**bare, "signatures": {self._user: {f"ed25519:{self._public(use)}": encode_base64(signature)}}}


def build_seeds() -> dict[str, bytes]:
    """Secret keys for a new identity."""
    return {use: ECC.generate(curve="Ed25519").seed for use in USES}

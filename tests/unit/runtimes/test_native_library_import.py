"""The agent library is loaded without what it could do without."""

import subprocess
import sys

PROGRAM = """
import gc, sys
from sojourn.runtimes.native.library_import import import_lean
with import_lean():
    import sojourn.runtimes.native.provider_openai
    assert not gc.isenabled()
assert gc.isenabled()
assert "openai" in sys.modules
assert not {"aiohttp", "rich", "httpx._main", "openai._vendor.httpx_aiohttp"} & set(sys.modules)
import openai._vendor.httpx_aiohttp  # who wants it can still have it
"""


def test_openais_sdk_is_loaded_without_a_second_http_client() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr

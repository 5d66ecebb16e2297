"""Meanings are compared by the vectors of an OpenAI-compatible server, where one is named."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sojourn import config
from sojourn.context.embedding_server import EmbeddingServer
from sojourn.core.errors import BadInput, RuntimeUnreachable


class Answers(BaseHTTPRequestHandler):
    """Embeds a text as the numbers of its vowels; answers in another order than asked."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(asked)
        self.server.keys.append(self.headers["authorization"])
        rows = [
            {"index": n, "embedding": [text.count(vowel) for vowel in "aeiou"]} for n, text in enumerate(asked["input"])
        ]
        body = json.dumps({"data": rows[::-1]}).encode() if self.path == "/v1/embeddings" else b"{}"
        self.send_response(self.server.status)
        if self.server.target:
            self.send_header("location", self.server.target)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        names = ["llama3:8b", "nomic-embed-text:latest", "bge-m3"]
        body = json.dumps({"data": [{"id": name} for name in names]}).encode() if self.path == "/v1/models" else b"{}"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as made:
        made.asked, made.keys, made.status, made.target = [], [], 200, None
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


class Kit:
    def __init__(self, home, url, *, model="m", detect=True, key=""):
        given = {
            "memory.embedder_key": key,
            "memory.embedder_url": url,
            "memory.embedder_model": model,
            "model.detect": detect,
        }
        self.settings = config.load({"home": str(home), **given})


def test_texts_are_compared_by_the_vectors_of_the_server(server, tmp_path):
    embedder = EmbeddingServer(Kit(tmp_path, f"http://127.0.0.1:{server.server_port}/v1/"))
    near, far = embedder.similarities("banana", ["papaya", "bottom"])
    assert (round(near, 3), far) == (1.0, 0.0)
    assert embedder.similarities("banana", ["papaya"]) == [near]
    assert [asked["model"] for asked in server.asked] == ["m"], "known texts are not sent again"


def test_a_server_that_fails_compares_nothing(server, tmp_path):
    server.status = 500
    kit = Kit(tmp_path, f"http://127.0.0.1:{server.server_port}/v1")
    assert EmbeddingServer(kit).similarities("banana", ["papaya"]) == [0.0]
    assert EmbeddingServer(Kit(tmp_path, "http://127.0.0.1:1/v1")).similarities("a", ["b", "c"]) == [0.0, 0.0]


@pytest.mark.parametrize(("wanted", "found"), [("", "nomic-embed-text:latest"), ("bge-m3", "bge-m3")])
def test_a_server_on_this_machine_is_found(server, tmp_path, wanted, found):
    kit = Kit(tmp_path, "", model=wanted)
    embedder = EmbeddingServer(kit, usual=(1, server.server_port))
    assert embedder.name == found
    assert embedder.embed(["banana"]) == [[1.0, 0.0, 0.0, 0.0, 0.0]]


def test_without_a_server_it_says_what_to_do(server, tmp_path):
    with pytest.raises(BadInput, match="No embedding server"):
        EmbeddingServer(Kit(tmp_path, ""), usual=(1,))
    with pytest.raises(BadInput):
        EmbeddingServer(Kit(tmp_path, "", model="another"), usual=(server.server_port,))
    with pytest.raises(BadInput):
        EmbeddingServer(Kit(tmp_path, "", detect=False), usual=(server.server_port,))


def test_a_key_goes_to_the_named_address_only(server, tmp_path):
    url = f"http://127.0.0.1:{server.server_port}/v1"
    EmbeddingServer(Kit(tmp_path, url, key="kept-for-one")).embed(["banana"])
    EmbeddingServer(Kit(tmp_path, url)).embed(["banana"])
    EmbeddingServer(Kit(tmp_path, "", model="bge-m3", key="kept-for-one"), usual=(server.server_port,)).embed(["fig"])
    assert server.keys == ["Bearer kept-for-one", None, None]


def test_a_key_follows_no_redirect(server, tmp_path):
    server.status, server.target = 307, f"http://127.0.0.1:{server.server_port}/elsewhere"
    kit = Kit(tmp_path, f"http://127.0.0.1:{server.server_port}/v1", key="kept-for-one")
    with pytest.raises(RuntimeUnreachable):
        EmbeddingServer(kit).embed(["banana"])
    assert len(server.keys) == 1

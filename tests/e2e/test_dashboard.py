"""`sojourn dashboard`: a link that lets a browser in, from a new server or from the one that runs."""

import re
import signal

import httpx

from tests.e2e.http_server import start


def lines(process):
    assert process.stdout
    ready, link = process.stdout.readline().split(), process.stdout.readline().split()
    assert (ready[0], link[0]) == ("ready", "open")
    return ready[1], link[1]


def test_a_link_lets_a_browser_in_and_a_running_server_gives_another(home):
    first = start("--home", str(home), "dashboard", "--port", "0", "--no-open")
    try:
        address, link = lines(first)
        second = start("--home", str(home), "dashboard", "--no-open")
        again, other = lines(second)
        assert (second.communicate(timeout=20)[1], second.returncode) == ("", 0)
        assert again == address
        assert other != link
        port = address.rpartition(":")[2]
        assert address == f"http://127.0.0.1:{port}"  # for programs
        for key in (link, other):
            assert key.startswith(
                f"{address}/enter?key="
            )  # from there a browser is sent to its own name, if it finds that
            with httpx.Client(base_url=address, trust_env=False) as browser:
                assert browser.get("/api/sessions").status_code == 401
                answer = browser.get(key.partition(port)[2])
                page_key = {"Sojourn-Page-Key": re.findall(r'"sojourn.page-key", "([^"]+)"', answer.text)[0]}
                assert browser.get("/api/sessions").status_code == 401
                assert browser.get("/api/sessions", headers=page_key).status_code == 200
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=20)
    assert first.returncode == 0

"""A phone at a secure address: TLS ends in front of Sojourn, which knows the name. Without it the page says so."""

from urllib.parse import urlsplit

from tests.browser.conftest import Site, start_server
from tests.e2e.http_server import start
from tests.servers.tls_proxy import TlsProxy

NAME = "phone.localhost"  # Chromium finds it on this machine by itself
PHONE = {"viewport": {"width": 390, "height": 844}, "ignore_https_errors": True}
INSECURE = """
    Object.defineProperty(window, "isSecureContext", { value: false });
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    document.addEventListener("copy", () => { window.copied = document.activeElement.value; });
"""


def test_a_phone_signs_in_at_the_secure_address(chromium, tmp_path):
    with TlsProxy(tmp_path, NAME) as proxy:
        public = f"https://{NAME}:{proxy.port}"
        with start_server(SOJOURN_RUNTIME="echo", SOJOURN_PUBLIC_URL=public) as server:
            proxy.pass_on_to(urlsplit(server.address).port)
            shown = start("--home", str(server.home), "dashboard", "--phone", env={"SOJOURN_PUBLIC_URL": public})
            said, problem = shown.communicate(timeout=60)
            assert (shown.returncode, problem) == (0, "")
            link = next(line.removeprefix("open ") for line in said.splitlines() if line.startswith("open "))
            assert link.startswith(f"{public}/enter?key=")
            assert "█" in said  # the code, which holds the same link
            context = chromium.new_context(**PHONE, locale="en-US", service_workers="block")
            page = context.new_page()
            page.goto(link)
            page.get_by_role("navigation").first.wait_for()
            assert page.url == f"{public}/"
            assert page.evaluate("isSecureContext")
            page.goto(f"{public}/settings/general")
            page.get_by_role("button", name="Turn on notifications").wait_for()
            page.goto(f"{public}/chat/new")
            page.get_by_label("Write a message").fill("from the phone")
            page.get_by_label("Write a message").press("Enter")
            page.locator(".turn-usage").wait_for()  # the live stream passes, too
            context.close()


def test_without_a_secure_address_the_page_says_so_and_copying_works(chromium):
    with start_server(SOJOURN_RUNTIME="echo") as server:
        site = Site(chromium, server)
        page = site.open_browser()
        page.add_init_script(INSECURE)
        page.goto(site.address + "/settings/general")
        page.get_by_text("need a secure address (https)").wait_for()
        page.goto(site.address + "/chat/new")
        page.get_by_label("Write a message").fill("copy me")
        page.get_by_label("Write a message").press("Enter")
        page.get_by_role("button", name="Copy answer").click()
        page.wait_for_function("() => (window.copied ?? '').includes('copy me')")
        site.close()
        shown = start("--home", str(server.home), "dashboard", "--phone")
        said, _ = shown.communicate(timeout=60)
        assert (shown.returncode, "tailscale serve --bg" in said) == (0, True)

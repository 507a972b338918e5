"""An explorer that listens on every interface: a warning, and nothing without the token."""

import http.client
import ipaddress
from urllib.parse import urlsplit

import pytest

from tests.browser.explorer import started, watched_tab


def status(server, path, **headers):
    """The status of a request on this machine's loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def websocket_status(server, address, **headers):
    """The status of the request that opens a websocket."""
    parts = urlsplit(address)
    headers |= {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    return status(server, f"{parts.path}?{parts.query}", **headers)


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    with started(tmp_path_factory.mktemp("token") / "runs", "--host", "0.0.0.0", "--port", "0") as server:
        yield server
        _, errors = server.interrupt()
    assert "everyone on the network of '0.0.0.0' who has the token can read the runs" in errors
    assert "Traceback" not in errors


def test_the_printed_address_is_not_that_of_all_interfaces(opened):
    parts = urlsplit(opened.url)
    assert not ipaddress.ip_address(parts.hostname).is_unspecified
    assert parts.query.startswith("token=")


def test_nothing_without_the_token(opened):
    for path in ("/", "/?token=wrong", "/bounds", "/_nicegui/nothing"):
        assert status(opened, path) == 401
    assert status(opened, "/", Host=f"evil.example:{urlsplit(opened.url).port}") == 421


def test_page_and_websocket_with_the_token(browser, opened):
    local = f"http://127.0.0.1:{urlsplit(opened.url).port}"
    with watched_tab(browser) as page:
        sockets = []
        page.on("websocket", lambda one: sockets.append(one.url))
        page.goto(f"{local}/bounds?{urlsplit(opened.url).query}&gamma=0.1")
        page.wait_for_function("window.socket && window.socket.connected")
        assert page.url == f"{local}/bounds?gamma=0.1", "the token is no part of links"
        slider = page.get_by_role("slider", name="Margin γ")
        slider.locator("[tabindex]").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**gamma=0.12")  # which the server has answered
        page.goto(f"{local}/live")  # the token is kept
        page.wait_for_function("window.socket && window.socket.connected")
        (cookie,) = page.context.cookies()
        address = sockets[0]
    own = {"Origin": local}
    assert websocket_status(opened, address, **own) == 403
    assert websocket_status(opened, address, **own, Cookie=f"{cookie['name']}=wrong") == 403
    assert websocket_status(opened, address, **own, Cookie=f"{cookie['name']}={cookie['value']}") == 101

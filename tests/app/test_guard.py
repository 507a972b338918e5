"""Requests from other sites, with other names, without the token or with too much in them are refused."""

import asyncio

import pytest

from softlabel.app.address import Address
from softlabel.app.guard import Guard

ADDRESS = Address("127.0.0.1", 8765)
HOST = ("host", "127.0.0.1:8765")


def answer(guard, *headers, kind="http", path="/", query="", body=(b"",)):
    """What the guard sends for a request."""
    parts = [{"type": "http.request", "body": part, "more_body": k < len(body) - 1} for k, part in enumerate(body)]
    incoming = iter(parts if kind == "http" else [{"type": "websocket.connect"}])
    sent = []

    async def receive():
        message = next(incoming, None)
        return message or await asyncio.Event().wait()  # nothing more comes

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "method": "GET", "path": path, "query_string": query.encode(),
             "headers": [(name.encode(), value.encode()) for name, value in headers]}  # fmt: skip
    asyncio.run(guard(scope, receive, send))
    return sent


def inner(reached):
    async def app(scope, receive, send):
        while scope["type"] == "http" and (await receive())["more_body"]:
            pass
        reached.append(scope["path"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"DENY")]})
            await send({"type": "http.response.body", "body": b"page"})
        else:
            await send({"type": "websocket.accept"})

    return app


@pytest.fixture
def reached():
    return []


@pytest.fixture
def guard(reached):
    return Guard(inner(reached), address=ADDRESS, token=None, limit=100)


def test_a_request_of_this_machine_passes_and_gets_headers(guard, reached):
    start, body = answer(guard, HOST)
    assert (start["status"], body["body"], reached) == (200, b"page", ["/"])
    headers = dict(start["headers"])
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"x-frame-options"] == b"DENY"


def test_a_header_of_the_page_is_kept(reached):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"Content-Security-Policy", b"sandbox")]})  # fmt: skip

    (start,) = answer(Guard(app, address=ADDRESS, token=None, limit=100), HOST)
    policies = [value for name, value in start["headers"] if name.lower() == b"content-security-policy"]
    assert policies == [b"sandbox"]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("host", "evil.example:8765")], 421),
        ([], 421),
        ([HOST, HOST], 421),
        ([HOST, ("origin", "http://evil.example")], 403),
        ([HOST, ("origin", "https://127.0.0.1:8765")], 403),
        ([HOST, ("origin", "null")], 403),
        ([HOST, ("origin", "http://[")], 403),
        ([HOST, ("origin", "http://127.0.0.1:9999")], 403),
    ],
)
def test_foreign_requests_never_reach_the_explorer(guard, reached, headers, status, kind):
    first, *_ = answer(guard, *headers, kind=kind)
    assert reached == []
    if kind == "http":
        assert first["status"] == status
    else:
        assert first["type"] == "websocket.close"


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_an_own_origin_passes(guard, reached, kind):
    answer(guard, HOST, ("origin", "http://localhost:8765"), kind=kind)
    assert reached == ["/"]


def test_lifespan_passes(reached):
    async def app(scope, receive, send):
        reached.append(scope["type"])

    asyncio.run(Guard(app, address=ADDRESS, token=None, limit=1)({"type": "lifespan"}, None, None))
    assert reached == ["lifespan"]


def test_a_body_that_announces_too_much(guard, reached):
    start, _ = answer(guard, HOST, ("content-length", "101"))
    assert (start["status"], reached) == (413, [])


def test_a_body_that_is_too_much_without_announcing_it(guard, reached):
    start, body = answer(guard, HOST, body=(b"x" * 60, b"x" * 60))
    assert (start["status"], reached) == (413, [])
    assert b"larger than 100 bytes" in body["body"]


def test_a_body_at_the_limit(guard, reached):
    assert answer(guard, HOST, body=(b"x" * 60, b"x" * 40))[0]["status"] == 200


@pytest.fixture
def with_token(reached):
    return Guard(inner(reached), address=Address("0.0.0.0", 8765), token="secret", limit=100)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "cookie", ["", "softlabel-8765=wrong", "other=secret", "softlabel-8765", ";;=;", "softlabel-8765=sécret"]
)
def test_without_the_token(with_token, reached, kind, cookie):
    first, *_ = answer(with_token, HOST, ("cookie", cookie), kind=kind)
    assert reached == []
    assert first.get("status", 401) == 401


def test_a_wrong_token_in_the_address(with_token, reached):
    assert answer(with_token, HOST, query="token=wrong")[0]["status"] == 401
    assert reached == []


def test_the_token_of_the_address_becomes_a_cookie(with_token, reached):
    start, _ = answer(with_token, HOST, path="/bounds", query="gamma=0.1&token=secret")
    headers = dict(start["headers"])
    assert (start["status"], headers[b"location"]) == (303, b"/bounds?gamma=0.1")
    cookie = headers[b"set-cookie"].decode()
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert answer(with_token, HOST, ("cookie", cookie.partition(";")[0]))[0]["status"] == 200
    assert reached == ["/"]


def test_the_redirection_stays_on_this_server(with_token):
    start, _ = answer(with_token, HOST, path="//evil.example/", query="token=secret")
    assert dict(start["headers"])[b"location"] == b"/evil.example/"


def test_a_websocket_with_the_token_only_in_its_address(with_token, reached):
    assert answer(with_token, HOST, kind="websocket", query="token=secret")[0]["type"] == "websocket.close"
    assert reached == []

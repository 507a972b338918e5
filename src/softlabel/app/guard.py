"""What every request passes before the explorer sees it: host, origin, token and size; and the headers of answers.

A web page of another site can make a browser send requests to this machine. Its requests name that site as their origin
or, where its name was made to point to this machine (DNS rebinding), as their host: both are refused. HTTP requests and
websockets are checked alike.
"""

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from softlabel.app.address import Address

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # Vue compiles its templates in the browser
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class TooLargeError(Exception):
    """The body of a request is larger than the limit."""


class Guard:
    """The outermost layer of the web application.

    address     where it listens, which decides the hosts and origins that may ask
    token       what a browser has to show once, in the address it opens; None where none is needed
    limit       bytes that the body of a request may have
    """

    def __init__(self, app: App, *, address: Address, token: str | None, limit: int) -> None:
        self.app, self.address, self.token, self.limit = app, address, token, limit
        self.cookie = f"softlabel-{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = _headers(scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        if self._shown_in_address(scope):
            await self._remember(scope, send)
            return
        try:
            await self.app(scope, self._limited(receive), _with_headers(send))
        except TooLargeError:
            await _refuse(scope, receive, send, 413, f"the request is larger than {self.limit:,} bytes")

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and reason where a request is refused."""
        if not self.address.allows(headers.get("host", "")):
            return 421, "this server does not answer to that host name"
        origin = headers.get("origin")
        if origin is not None and not self._own(origin):
            return 403, "requests from other sites are refused"
        if self.token is not None and not (self._shown_in_address(scope) or self._shown_in_cookie(headers)):
            return 401, "open the address that the explorer printed: it contains the token"
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.limit:
            return 413, f"the request is larger than {self.limit:,} bytes"
        return None

    def _own(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme == "http" and self.address.allows(origin.partition("://")[2])

    def _shown_in_address(self, scope: Scope) -> bool:
        """Whether the token is in the query of this address."""
        if self.token is None or scope["type"] != "http":
            return False
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        return hmac.compare_digest(query.get("token", "").encode(), self.token.encode())

    def _shown_in_cookie(self, headers: dict[str, str]) -> bool:
        assert self.token is not None
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        shown = cookies[self.cookie].value if self.cookie in cookies else ""
        return hmac.compare_digest(shown.encode(), self.token.encode())

    async def _remember(self, scope: Scope, send: Send) -> None:
        """Keep the token in a cookie, and go to the same address without it, so that links do not show it."""
        rest = [pair for pair in parse_qsl(scope["query_string"].decode("latin-1")) if pair[0] != "token"]
        target = scope["path"] + (f"?{urlencode(rest)}" if rest else "")
        target = "/" + target.lstrip("/")  # "//name" would lead to another site
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", target.encode("latin-1", "replace")), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": [*headers, (b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def _limited(self, receive: Receive) -> Receive:
        """`receive`, which stops at a body that is larger than the limit."""
        size = 0

        async def limited() -> MutableMapping[str, Any]:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.limit:
                raise TooLargeError
            return message

        return limited


def _headers(scope: Scope) -> dict[str, str]:
    """The headers of a request; of one that stands twice both, so that it equals nothing that is allowed."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def _with_headers(send: Send) -> Send:
    """`send` with the headers of every answer; a header that the page has set stays as it is."""

    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in present)]
        await send(message)

    return with_headers


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    """Answer with a status and one line; a websocket is closed before it opens."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    body = f"softlabel: {reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()),
               (b"connection", b"close")]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

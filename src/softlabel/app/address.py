"""Where the explorer listens, and under which names a browser may ask for it."""

import contextlib
import errno
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from softlabel.errors import InputError, require, short

PORT, TRIES = 8765, 20
LOOPBACK = "127.0.0.1"
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Address:
    """Where the explorer listens.

    host    the address of the network interface
    port    its port
    """

    host: str
    port: int

    @property
    def local(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        """What a browser opens; of a host that stands for all interfaces, an address that other machines reach."""
        every = _is_numeric(self.host) and ipaddress.ip_address(self.host).is_unspecified
        return f"http://{_bracketed(_outward_address(self.host) if every else self.host)}:{self.port}/"

    def allows(self, authority: str) -> bool:
        """Whether a request may name this host and port: its `Host` header, or the end of its `Origin`.

        A page of another site that has made its own name point to this machine names itself here, and is refused. On
        other interfaces than loopback any numeric address is allowed, since no name can be made to equal one, and the
        name of this machine.
        """
        try:
            parts = urlsplit(f"//{authority}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if parts.username is not None or parts.path or parts.query or port != self.port:
            return False
        if name in LOCAL_NAMES or name == self.host.lower():
            return True
        return not self.local and (_is_numeric(name) or name == socket.gethostname().lower())


def is_loopback(host: str) -> bool:
    """Whether the host is this machine's loopback interface."""
    return host == "localhost" or (_is_numeric(host) and ipaddress.ip_address(host).is_loopback)


def listening_socket(host: str, port: int | None) -> socket.socket:
    """A socket that listens on the port, or on the next one that is free; 0 takes any free port."""
    require(host != "", "`host` must be an address, got an empty one; leave it out to listen on this machine only")
    require(port is None or 0 <= port <= 65535, f"port must lie between 0 and 65535, got {port}; leave it out")
    first = PORT if port is None else port
    last = min(first + TRIES, 65536) if first else 1
    for number in range(first, last):
        opened = _try_to_listen(host, number)
        if opened is not None:
            return opened
    raise InputError(f"the ports from {first} to {last - 1} are in use on '{host}': choose another `port`")


def _try_to_listen(host: str, port: int) -> socket.socket | None:
    """A listening socket; None where the port is in use or reserved."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(128)
    except OSError as problem:
        opened.close()
        if problem.errno in (errno.EADDRINUSE, errno.EACCES):
            return None
        raise InputError(f"`host` '{short(host)}' is not an address of this machine ({problem.strerror})") from None
    except (UnicodeError, ValueError, TypeError):
        opened.close()
        raise InputError(f"`host` '{short(host)}' cannot be an address") from None
    return opened


def _outward_address(host: str) -> str:
    """The address from which this machine reaches others, found without sending anything; else its loopback.

    `host` stands for all interfaces: of IPv4, or of IPv6 and IPv4.
    """
    others = [(socket.AF_INET6, "2001:db8::1")] if ":" in host else []
    for family, other in (*others, (socket.AF_INET, "203.0.113.1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((other, 9))  # of datagrams, this only chooses the interface
            return str(probe.getsockname()[0])
    return LOOPBACK


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host

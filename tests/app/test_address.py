"""Ports, and the names under which a browser may ask."""

import ipaddress
import socket
from urllib.parse import urlsplit

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as some

from softlabel.app.address import PORT, Address, is_loopback, listening_socket
from softlabel.errors import InputError

LOCAL = Address("127.0.0.1", 8765)


@pytest.mark.parametrize("authority", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_this_machine_is_allowed(authority):
    assert LOCAL.allows(authority)


@pytest.mark.parametrize(
    "authority",
    ["", "evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:8766", "localhost.evil.example:8765",
     "127.0.0.1.evil.example:8765", "user@127.0.0.1:8765", "127.0.0.1:8765/x", "192.168.0.7:8765", "[::1", ":8765",
     "127.0.0.1:8765,evil.example", "127.0.0.1:x", "0.0.0.0:8765"],
)  # fmt: skip
def test_everything_else_is_refused(authority):
    assert not LOCAL.allows(authority)


@for_all(some.text(max_size=30))
def test_no_text_is_an_error(authority):
    assert LOCAL.allows(authority) in (True, False)


def test_other_interfaces_allow_numeric_addresses_and_their_own_name():
    address = Address("0.0.0.0", 9000)
    assert address.allows("192.168.0.7:9000")
    assert address.allows("[fe80::1]:9000")
    assert not address.allows("evil.example:9000")
    assert Address("work.example", 9000).allows("work.example:9000")


def test_the_name_of_this_machine_is_allowed_where_others_can_connect(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "Workstation")
    assert Address("0.0.0.0", 9000).allows("workstation:9000")
    assert not Address("0.0.0.0", 9000).allows("workstation.evil.example:9000")
    assert not LOCAL.allows("workstation:8765")


def test_every_loopback_address_answers_to_itself():
    assert Address("127.0.0.2", 9000).allows("127.0.0.2:9000")
    assert not Address("127.0.0.2", 9000).allows("127.0.0.3:9000")


def test_the_address_that_a_browser_opens():
    assert LOCAL.url == "http://127.0.0.1:8765/"
    assert Address("::1", 9000).url == "http://[::1]:9000/"
    assert Address("192.168.0.7", 9000).url == "http://192.168.0.7:9000/"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_the_address_of_all_interfaces_is_one_of_this_machine(host):
    shown = urlsplit(Address(host, 9000).url)
    assert shown.port == 9000
    assert not ipaddress.ip_address(shown.hostname).is_unspecified
    with socket.socket(socket.AF_INET6 if ":" in shown.hostname else socket.AF_INET) as probe:
        probe.bind((shown.hostname, 0))  # refused for an address of another machine
    assert Address(host, 9000).allows(shown.netloc)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0:0:0:0:0:0:0:0"])
def test_the_address_of_all_interfaces_is_the_one_that_reaches_others(host, monkeypatch):
    reached = "fd00::7" if ":" in host else "192.168.0.7"
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: None)
    monkeypatch.setattr(socket.socket, "getsockname", lambda self: (reached, 40_000))
    assert urlsplit(Address(host, 9000).url).hostname == reached


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_a_network_the_address_is_that_of_this_machine(host, monkeypatch):
    def connect(self, address):
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", connect)
    assert Address(host, 9000).url == "http://127.0.0.1:9000/"


@pytest.mark.parametrize(("host", "loopback"), [
    ("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
    ("192.168.0.7", False), ("localhost.example", False),
])  # fmt: skip
def test_what_only_this_machine_reaches(host, loopback):
    assert is_loopback(host) is loopback


def test_a_port_in_use_is_passed_over():
    with listening_socket("127.0.0.1", 0) as first:
        used = first.getsockname()[1]
        with listening_socket("127.0.0.1", used) as second:
            assert used < second.getsockname()[1] < used + 20


def test_without_a_port_the_usual_one_is_tried_first():
    with socket.socket() as probe:
        free = probe.connect_ex(("127.0.0.1", PORT)) != 0
    with listening_socket("127.0.0.1", None) as opened:
        port = opened.getsockname()[1]
        assert port == PORT if free else port > PORT


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range(port):
    with pytest.raises(InputError, match=r"port must lie between 0 and 65535, got -?\d+"):
        listening_socket("127.0.0.1", port)


@pytest.mark.parametrize("host", ["", "x" * 5000, "a\0b", "\x1b[31mred\u202e"])
def test_a_host_that_cannot_be_an_address(host):
    with pytest.raises(InputError, match="`host`"):
        listening_socket(host, 0)


def test_a_host_that_is_not_of_this_machine():
    with pytest.raises(InputError, match=r"`host` '192\.0\.2\.1' is not an address of this machine"):
        listening_socket("192.0.2.1", 0)

"""Ports, and the names under which a browser may ask."""

import socket

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


def test_every_loopback_address_answers_to_itself():
    assert Address("127.0.0.2", 9000).allows("127.0.0.2:9000")
    assert not Address("127.0.0.2", 9000).allows("127.0.0.3:9000")


def test_the_address_that_a_browser_opens():
    assert LOCAL.url == "http://127.0.0.1:8765/"
    assert Address("0.0.0.0", 9000).url == "http://127.0.0.1:9000/"
    assert Address("::1", 9000).url == "http://[::1]:9000/"


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

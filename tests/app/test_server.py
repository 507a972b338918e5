"""The server of the explorer in a process of its own: where it listens, whom it answers, and how it ends."""

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.explorer import started


def status(server, *, host=None, **headers):
    """The status of a request to the first page."""
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.putrequest("GET", "/", skip_host=True)
        for name, value in {"Host": parts.netloc if host is None else host, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server") / "runs") as one:
        yield one


def test_it_listens_on_this_machine_only(server):
    parts = urlsplit(server.url)
    assert parts.hostname == "127.0.0.1"
    table = Path("/proc/net/tcp").read_text().splitlines()
    rows = [line.split() for line in table if f":{parts.port:04X} " in line]
    assert {row[1].split(":")[0] for row in rows if row[3] == "0A"} == {"0100007F"}


def test_requests_that_name_another_host_or_origin_are_refused(server):
    assert status(server) == 200
    assert status(server, host="evil.example") == 421
    assert status(server, Origin="http://evil.example") == 403


def test_a_second_one_takes_another_port(server, tmp_path):
    port = urlsplit(server.url).port
    with started(tmp_path / "runs", "--port", str(port)) as second:
        assert urlsplit(second.url).port in range(port + 1, port + 20)
        assert status(second) == 200
    assert status(server) == 200


def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path):
    runs = tmp_path / "runs"
    with started(runs) as one:
        assert status(one) == 200
        code, errors = one.interrupt()
    assert code == 130
    assert "Traceback" not in errors
    assert not list(runs.rglob("*")), "looking at runs writes nothing"


def upload_to(server, size, sent):
    """Send a table of `size` bytes as a browser does, or only the first `sent` bytes; returns the open connection."""
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request("GET", "/try")
    page = connection.getresponse().read().decode()
    connection.close()
    found = re.search(r"/_nicegui/client/[0-9a-f-]+/upload/[0-9]+", page)
    assert found is not None
    head = b'--part\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
    body = head + b"1,2\n" * ((size - len(head)) // 4) + b"\r\n--part--\r\n"
    request = (
        f"POST {found[0]} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n"
        "Content-Type: multipart/form-data; boundary=part\r\n\r\n"
    )
    upload = socket.create_connection((parts.hostname, parts.port), timeout=60)
    upload.sendall(request.encode() + body[:sent])
    return upload


def upload_all_to(server, size):
    with suppress(OSError):  # the server is killed meanwhile
        upload_to(server, size, None).close()


def files_below(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


def a_large_file_comes(directory, seconds=20):
    """Wait for a file of at least a megabyte; whether there is one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(FileNotFoundError):
            if any(path.stat().st_size > 2**20 for path in files_below(directory)):
                return True
        time.sleep(0.001)
    return False


def test_a_kill_during_an_upload_leaves_nothing_to_the_next_one(tmp_path, temporary):
    runs = tmp_path / "runs"
    with started(runs) as one, upload_to(one, 8 * 2**20, 4 * 2**20):  # half of a table
        for _ in range(5):  # a table that was received is copied: the kill should come in between
            threading.Thread(target=upload_all_to, args=(one, 100 * 2**20), daemon=True).start()
            if a_large_file_comes(temporary):
                break
        one.kill()
    assert files_below(temporary), "there is something to delete"
    with started(runs) as two:
        assert status(two) == 200
        assert not [path for path in files_below(runs) if path.suffix == ".csv"]
        (own,) = temporary.iterdir()
        assert str(two.process.pid) in own.name
        two.interrupt()
    assert not list(temporary.iterdir())
    assert not files_below(runs)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "70000"], "--port must lie between 0 and 65535, got 70000"),
        (["--host", "192.0.2.1"], "--host '192.0.2.1' is not an address of this machine"),
        (["{file}"], "is a file"),
    ],
)
def test_wrong_input_is_one_line(tmp_path, arguments, words):
    file = tmp_path / "file"
    file.write_text("")
    command = [sys.executable, "-m", "softlabel", "explore", "--no-browser"]
    done = subprocess.run(
        [*command, *(one.format(file=file) for one in arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_browser_that_answers_slowly_is_not_given_up(server):
    """Its page would be loaded again, and its training would be lost, where ten tabs draw at once on a busy machine."""
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=polling")
    opening = connection.getresponse().read().decode()
    connection.close()
    assert json.loads(opening[1:])["pingTimeout"] >= 60_000

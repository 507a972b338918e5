"""`explore`: the web server of the explorer, from its start to Ctrl-C."""

import logging
import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softlabel.app.address import LOOPBACK, Address, listening_socket
from softlabel.app.temporary import temporary_directory
from softlabel.errors import UnavailableError, require
from softlabel.studies.run import RUNS

LARGEST_UPLOAD = 512 * 2**20
PATIENCE = 60  # seconds in which a browser answers; a tab that is closed is noticed at once all the same
LOOK = 0.3  # seconds between two looks at the processes that answer questions
log = logging.getLogger("softlabel")


def explore(
    directory: str | Path = RUNS,
    *,
    port: int | None = None,
    host: str = LOOPBACK,
    browser: bool = True,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Open the explorer, a local web page for runs, bounds, live training and verdicts, until it is interrupted.

    It listens on this machine only, unless `host` says otherwise; then a token is needed, which is part of the address.
    It needs NiceGUI: ``pip install 'softlabel[explorer]'``.

    Parameters
    ----------
    directory : str or path, default="runs"
        Directory whose runs are shown, and below which new runs are made.
    port : int, optional
        First port to try; the next ones are tried where it is in use. 0 takes any free port. Default: 8765.
    host : str, default="127.0.0.1"
        Address of the network interface to listen on.
    browser : bool, default=True
        Whether to open a browser.
    ready : callable, optional
        Called with the address of the page when the server listens.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.explore("runs", port=8765)  # doctest: +SKIP
    """
    runs = Path(directory)
    with listening_socket(host, port) as listener:
        require(not runs.exists() or runs.is_dir(), f"directory must be a directory of runs, '{runs}' is a file")
        address = Address(host, listener.getsockname()[1])
        if port and address.port != port:
            log.info("port %d is in use; using %d instead", port, address.port)
        token = None if address.local else secrets.token_urlsafe(24)
        if token is not None:
            log.warning("everyone on the network of '%s' who has the token can read the runs in '%s' and start "
                        "trainings; connections are not encrypted", host, runs)  # fmt: skip
        url = address.url if token is None else f"{address.url}?token={token}"
        _serve(runs, address, token, listener, lambda: _announce(url, browser, ready))


def _announce(url: str, browser: bool, ready: Callable[[str], None] | None) -> None:
    if ready is not None:
        ready(url)
    if browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _serve(
    runs: Path, address: Address, token: str | None, listener: socket.socket, announce: Callable[[], None]
) -> None:
    """Serve until an interrupt; then every process of the explorer is ended."""
    with temporary_directory(), tempfile.TemporaryDirectory(prefix="storage-") as storage:
        os.environ["NICEGUI_STORAGE_PATH"] = storage  # read when NiceGUI is imported; nothing is written elsewhere
        nicegui = _nicegui()
        from softlabel.app.children import warm_up
        from softlabel.app.guard import Guard
        from softlabel.app.pages import add_pages
        from softlabel.app.state import Explorer

        explorer = Explorer(runs)
        nicegui.app.add_middleware(Guard, address=address, token=token, limit=LARGEST_UPLOAD)
        add_pages(explorer)
        nicegui.app.on_startup(lambda: setattr(nicegui.core.sio.eio, "ping_timeout", PATIENCE))
        nicegui.app.on_startup(announce)
        nicegui.app.on_startup(lambda: threading.Thread(target=warm_up, daemon=True).start())
        nicegui.app.timer(LOOK, explorer.questions.look)
        nicegui.app.on_shutdown(explorer.close)
        try:
            nicegui.ui.run(
                host=address.host, port=address.port, fd=listener.fileno(), title="softlabel", dark=None, show=False,
                reload=False, show_welcome_message=False, tailwind=False, gzip_middleware_factory=None,
                favicon=FAVICON, uvicorn_logging_level="error", timeout_graceful_shutdown=2, reconnect_timeout=8,
            )  # fmt: skip
        finally:
            explorer.close()


FAVICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='#0072B2'/>"
    "<path d='M5 25C14 25 13 8 27 8' fill='none' stroke='white' stroke-width='4' stroke-linecap='round'/></svg>"
)


def _nicegui() -> Any:
    try:
        import nicegui
    except ImportError:
        raise UnavailableError(
            "the explorer needs NiceGUI, which is not installed: pip install 'softlabel[explorer]'"
        ) from None
    return nicegui

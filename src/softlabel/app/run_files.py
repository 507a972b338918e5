"""Files of runs that a browser may ask for: pages and figures, by a key that the explorer made, never by a path.

A page of a run may come from anywhere. It is sent with a policy of its own, in which its scripts run without an origin:
they can draw its figures, and can neither send requests nor reach the explorer.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import Response
from fastapi.responses import FileResponse, PlainTextResponse

ADDRESS = "/run-files/{key}"
LARGEST = {".html": 64 * 2**20, ".png": 16 * 2**20}  # bytes
KINDS = {".html": "text/html; charset=utf-8", ".png": "image/png"}
POLICY = "; ".join(
    (
        "sandbox allow-scripts",
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass
class RunFiles:
    """The files of the runs below a directory that this explorer has shown.

    root    the directory of runs; no file outside of it is sent
    """

    root: Path
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    _paths: dict[str, Path] = field(default_factory=dict, repr=False)

    def address(self, path: Path) -> str:
        """The address under which the explorer sends this file."""
        key = hashlib.blake2b(bytes(path), key=self._secret, digest_size=16).hexdigest()
        self._paths[key] = path
        return ADDRESS.format(key=key)

    def response(self, key: str) -> Response:
        """The file behind a key, or why it is not sent."""
        path = self._paths.get(key)
        if path is None or not path.is_file() or not is_inside(self.root, path):
            return PlainTextResponse("softlabel: there is no such file; open the run in the explorer again\n", 404)
        if path.stat().st_size > LARGEST.get(path.suffix, 0):
            return PlainTextResponse(f"softlabel: '{path.name}' is too large; open it from its directory\n", 413)
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
        return FileResponse(path, media_type=KINDS[path.suffix], headers=headers)


def is_inside(root: Path, path: Path) -> bool:
    """Whether a path lies below the root where all symbolic links are followed."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that cannot be one
        return False

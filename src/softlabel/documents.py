"""JSON documents without NaN and infinity, which strict JSON parsers reject."""

import json
import math
from typing import Any


def json_text(document: Any, indent: int | None = 2) -> str:
    """The document as JSON text; numbers that are not finite become null."""
    return json.dumps(_finite(document), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

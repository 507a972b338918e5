"""Names of classes, data and students as names of files."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable

LONGEST = 80  # bytes of a name
KEPT = "-_."
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}


def file_name(name: object) -> str:
    """The name as part of a file's name: letters and digits stay, any other character becomes an underscore.

    Two names may have the same file name; `file_names` keeps them apart.

    Examples
    --------
    >>> file_name("../my data")
    'my_data'
    """
    text = unicodedata.normalize("NFC", str(name))
    text = "".join(sign if sign.isalnum() or sign in KEPT else "_" for sign in text)
    text = text.encode("utf-8", "ignore")[:LONGEST].decode("utf-8", "ignore").strip("._") or "_"
    return f"{text}_" if text.casefold().split(".")[0] in DEVICES else text


def file_names(names: Iterable[object]) -> dict[str, str]:
    """A file name for each of these names, no two alike, not even where capital letters do not count.

    A name whose file name is not its own, and would be another's too, carries a hash of the name.

    Examples
    --------
    >>> file_names(["cat", "big dog"])
    {'cat': 'cat', 'big dog': 'big_dog'}
    """
    plain = {str(name): file_name(name) for name in names}
    shared = Counter(_fold(shown) for shown in plain.values())
    names_shown = {name: shown if shared[_fold(shown)] == 1 else _marked(name, shown) for name, shown in plain.items()}
    if len({_fold(shown) for shown in names_shown.values()}) < len(names_shown):  # a name looks like another one's mark
        names_shown = {name: _marked(name, shown) for name, shown in plain.items()}
    return names_shown


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _marked(name: str, shown: str) -> str:
    return f"{shown}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"

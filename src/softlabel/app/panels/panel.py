"""What a panel is."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from softlabel.app.state import Explorer


@dataclass(frozen=True)
class ExplorerPanel:
    """One page of the explorer.

    path        its address
    title       its name in the navigation
    about       what it is for, in one sentence, below its title
    build       fills the page of one visitor: called with the explorer and the query of the address
    routes      registers other addresses that the panel needs: called once for an explorer
    """

    path: str
    title: str
    about: str
    build: Callable[[Explorer, Mapping[str, str]], Awaitable[None] | None]
    routes: Callable[[Explorer], None] | None = None

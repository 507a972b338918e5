"""The mathematics of the papers, one result per module: kernel, margin, bounds, dynamics, invariants and others."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["alignment", "bounds", "dynamics", "invariants", "kernel", "lottery", "margin", "overlap"],
)

"""softlabel: soft labels or hard labels, how small a student, and what can be proved.

The public names are loaded on first use, so that importing softlabel and asking its command for help stay quick; the
stub file `__init__.pyi` lists them for type checkers.
"""

import os

import lazy_loader

# onnxruntime reads this when it is imported. Without it, it contacts its maker's host and writes a device id and a
# queue of events into the user's cache. It is set here, before anything else of softlabel runs, and worker processes
# inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

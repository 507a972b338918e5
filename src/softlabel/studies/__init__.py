"""One file per question or claim."""

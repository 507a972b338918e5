"""Text from outside (names of files, classes, columns) made safe to display."""


def printable(text: object) -> str:
    """The text with every character that is not printable written as an escape sequence.

    Control characters, bidirectional overrides, invisible characters and line breaks change what a terminal, a
    figure or a log shows beyond the name itself; ``\\x1b[31m`` is shown as these seven characters instead.

    Examples
    --------
    >>> printable("cat\\x1b[31m")
    'cat\\\\x1b[31m'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in shown)

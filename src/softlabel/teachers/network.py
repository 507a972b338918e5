"""A teacher that is trained within seconds: one wide network, for looking at how students learn."""

import time

from softlabel.data.problem import Problem
from softlabel.ranges import check_seed
from softlabel.teachers.automatic import WideNetwork
from softlabel.teachers.predictions import TeacherPredictions


def network_teacher(problem: Problem, *, seed: int = 0) -> TeacherPredictions:
    """Predictions of one wide two-layer network that is trained on the training rows.

    The network has 512 neurons, and its logits are divided by a temperature that is fitted on the validation rows. It
    has seen the labels of the training rows, so its predictions there are better than elsewhere. To compare soft and
    hard labels, use `verdict`, whose teacher labels training rows that it has not seen.

    Parameters
    ----------
    problem : Problem
        The data.
    seed : int, default=0
        Seed of the network.

    Returns
    -------
    TeacherPredictions
        Predictions for every row.

    See Also
    --------
    query_teacher : Predictions of any teacher, among them a slower one that is trained here with care.

    Examples
    --------
    >>> import softlabel as sl
    >>> problem = sl.load("moons")
    >>> teacher = sl.network_teacher(problem)
    >>> teacher
    <TeacherPredictions: 1,000 rows, 2 classes, logits; a network of width 512>
    >>> labels = teacher.labels(problem.train.rows)
    >>> labels.kind, labels.rows
    ('logits', 600)
    """
    check_seed(seed)
    began = time.perf_counter()
    network = WideNetwork.best(problem, problem.train.rows, seed)
    return TeacherPredictions(
        network.logits(problem.X),
        str(network),
        network.kind,
        seconds=time.perf_counter() - began,
        parameters=network.parameters,
    )

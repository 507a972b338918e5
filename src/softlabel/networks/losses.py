"""Labels, and the loss that students are trained with.

Every loss here is a Kullback–Leibler divergence to a target distribution p:

    soft    p = μ(z/T) from a teacher's logits z            KL(p ‖ μ(f))
    hard    p = (1 + y)/2, one class certain                KL(p ‖ μ(f)) = ln(1 + e^{−yf})
    smooth  p = (1 − s)·hard + s/K                          KL(p ‖ μ(f))

with μ the sigmoid (one output) or the softmax (K outputs). Temperature T softens the labels only
(`temperature_on="labels"`, the papers' theory, κ = 1/T), or both sides with its factor T²
(`temperature_on="both"`, Hinton): T²·KL(μ(z/T) ‖ μ(f/T)). The gradient in f is μ(f) − p, or T(μ(f/T) − p).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from scipy.special import expit, logit, softmax
from torch import Tensor
from torch.nn import functional

from softlabel.errors import InputError, require

SUM_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of n examples, hard or soft.

    Use `hard_labels`, `soft_labels` or `teacher_logits` to create checked labels.

    Parameters
    ----------
    kind : {"hard", "logits", "probabilities"}
        Hard labels, a teacher's logits z, or probabilities p.
    values : ndarray of shape (n,) or (n, K)
        Shape (n,) for two classes: ±1, the logit of class +1, or the probability of class +1. Shape (n, K) for K > 2
        classes: one-hot rows, logits, or probabilities.

    Examples
    --------
    >>> import softlabel as sl
    >>> labels = sl.teacher_logits([2.0, -1.0, 0.5])
    >>> labels.kind, labels.rows, labels.outputs
    ('logits', 3, 1)
    >>> labels.targets(temperature=4.0).round(3)
    array([[0.622, 0.438, 0.531]])
    >>> labels.decisions()
    array([ 1, -1,  1])
    """

    kind: Literal["hard", "logits", "probabilities"]
    values: np.ndarray

    @property
    def rows(self) -> int:
        """Number of examples."""
        return len(self.values)

    @property
    def outputs(self) -> int:
        """Number of outputs that a student needs: 1 for two classes, K for K > 2 classes."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    def targets(self, temperature: float = 1.0, smoothing: float = 0.0) -> np.ndarray:
        """Target distributions p at a temperature and with label smoothing.

        Parameters
        ----------
        temperature : float, default=1.0
            Temperature T of soft labels. Hard labels do not have a temperature.
        smoothing : float, default=0.0
            Fraction of every target that is spread evenly over the classes.

        Returns
        -------
        ndarray of shape (outputs, n)
            The probability of class +1 (two classes), or the probabilities of all classes.
        """
        if self.kind == "hard":
            p = (1 + self.values) / 2 if self.outputs == 1 else self.values
        elif self.kind == "probabilities" and temperature == 1.0:
            p = self.values
        elif self.outputs == 1:
            z = self.values if self.kind == "logits" else logit(self.values)
            p = expit(z / temperature)
        else:
            with np.errstate(divide="ignore"):
                z = self.values if self.kind == "logits" else np.log(self.values)
            p = softmax(z / temperature, axis=1)
        p = (1 - smoothing) * p + smoothing / max(2, self.outputs)
        return np.atleast_2d(p.T)

    def decisions(self) -> np.ndarray:
        """The label of each row: ±1 for two classes, the class index for more."""
        if self.outputs > 1:
            return self.values.argmax(axis=1)
        return np.where(self.values > (0.5 if self.kind == "probabilities" else 0.0), 1, -1)


def hard_labels(y: Any) -> Labels:
    """Hard labels.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels ±1, 0/1, booleans, or class indices 0 … K−1.

    Returns
    -------
    Labels
        Labels of kind "hard".

    Raises
    ------
    InputError
        If the labels have one class only, or are not of one of these forms.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.hard_labels([0, 1, 1, 0]).values
    array([-1.,  1.,  1., -1.])
    >>> sl.hard_labels([2, 0, 1]).values
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    y = np.asarray(y)
    require(y.ndim == 1, f"hard labels must have one dimension, got shape {y.shape}")
    if y.dtype.kind not in "iubf" or (y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.round(y))).all()):
        raise InputError("hard labels must be ±1, 0/1 or class indices 0 … K−1; encode class names first")
    classes = np.unique(y.astype(np.int64))
    if len(classes) < 2:
        raise InputError(f"labels have one class only ({classes.tolist()}); training needs at least two")
    if len(classes) == 2 and classes.tolist() in ([-1, 1], [0, 1]):
        return Labels("hard", np.where(y.astype(np.int64) == 1, 1.0, -1.0))
    if classes[0] < 0 or not np.array_equal(classes, np.arange(classes[-1] + 1)):
        raise InputError(
            f"hard labels must be ±1, 0/1 or all class indices 0 … K−1, got {classes[:6].tolist()}; "
            "renumber them, for example with numpy.unique(y, return_inverse=True)"
        )
    return Labels("hard", np.eye(len(classes))[y.astype(np.int64)])


def teacher_logits(z: Any) -> Labels:
    """Soft labels from a teacher's logits.

    Parameters
    ----------
    z : array-like of shape (n,) or (n, K)
        Logits of class +1 for two classes, or of K > 2 classes.

    Returns
    -------
    Labels
        Labels of kind "logits".

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.teacher_logits([1.5, -0.5]).targets().round(3)
    array([[0.818, 0.378]])
    """
    return Labels("logits", _finite("teacher logits", z))


def soft_labels(p: Any) -> Labels:
    """Soft labels from probabilities.

    Parameters
    ----------
    p : array-like of shape (n,) or (n, K)
        Probabilities of class +1 for two classes, or of K > 2 classes, whose rows must sum to 1 (up to 1e-4).

    Returns
    -------
    Labels
        Labels of kind "probabilities".

    Raises
    ------
    InputError
        If values are outside [0, 1], not finite, or do not sum to 1.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.soft_labels([0.9, 0.2]).targets(smoothing=0.1)
    array([[0.86, 0.23]])
    """
    p = _finite("soft labels", p)
    if p.min() < 0 or p.max() > 1:
        row = int(np.argwhere((p < 0) | (p > 1))[0][0])
        raise InputError(
            f"soft labels must lie in [0, 1], got {p[row].tolist()} at row {row}; "
            "pass logits with teacher_logits() instead"
        )
    if p.ndim == 2:
        off = np.abs(p.sum(axis=1) - 1)
        if off.max() > SUM_TOLERANCE:
            row = int(off.argmax())
            raise InputError(
                f"soft labels of a row must sum to 1, got {p[row].sum():.6g} at row {row}; "
                "normalize them, or pass logits with teacher_logits()"
            )
        p = p / p.sum(axis=1, keepdims=True)
    return Labels("probabilities", p)


def _finite(what: str, values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    require(
        values.ndim in (1, 2) and values.size > 0,
        f"{what} must have one column, or one column per class, got shape {values.shape}",
    )
    if values.ndim == 2 and values.shape[1] == 2:
        raise InputError(f"{what} of two classes must have one column (class +1), got two; pass the second one")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(f"{what} must be finite, got {values[row].tolist()} at row {row}")
    return values


def loss_gradient(logits: Tensor, targets: Tensor, temperature: Tensor | None, out: Tensor | None = None) -> Tensor:
    """Gradient of each example's loss with respect to its logits, (students, outputs, examples); overwrites `logits`.

    `temperature` (students, 1, 1) divides the students' logits; None means 1 for all of them. `out` is a buffer of the
    same shape that may hold the gradient.
    """
    if temperature is not None:
        logits.div_(temperature)
    gradient = logits.sigmoid_() if logits.shape[1] == 1 else torch.softmax(logits, 1, out=out)
    gradient.sub_(targets)
    if temperature is not None:
        gradient.mul_(temperature)
    return gradient


def loss_values(logits: Tensor, targets: Tensor, temperature: Tensor | None) -> Tensor:
    """Each example's loss, T²·KL(p ‖ μ(f/T)), as (students, examples) from (students, outputs, examples)."""
    if temperature is not None:
        logits = logits / temperature
    if logits.shape[1] == 1:
        entropy = torch.special.entr(targets) + torch.special.entr(1 - targets)
        loss = functional.softplus(logits, threshold=40) - targets * logits - entropy
    else:
        loss = (-targets * torch.log_softmax(logits, dim=1) - torch.special.entr(targets)).sum(1, keepdim=True)
    if temperature is not None:
        loss = loss * temperature.square()
    return loss.squeeze(1).clamp_min(0)


def mistakes(logits: Tensor, truth: Tensor) -> Tensor:
    """Which examples a student classifies incorrectly, (students, examples); a tie is a mistake: 1(y f ≤ 0).

    `truth` is ±1 (one output) or class indices (K outputs).
    """
    if logits.shape[1] == 1:
        return logits.squeeze(1) * truth <= 0
    chosen = truth.expand(logits.shape[0], 1, -1)
    own = logits.gather(1, chosen)
    rivals = logits.scatter(1, chosen, -torch.inf).amax(1, keepdim=True)
    return (own <= rivals).squeeze(1)

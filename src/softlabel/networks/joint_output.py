"""The fixed output layers of all students in one product, for small runs with students of many shapes.

Group by group, a step takes a dozen operations for every shape of students, which is most of its time when the data are
small. Here the output weights of all students are one matrix of zeros outside their own rows, so that the number of
operations does not depend on the number of shapes; the products with zeros are cheaper than the calls that they save.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from softlabel.networks.losses import loss_gradient
from softlabel.networks.stack import StudentGroup

PRODUCTS_PER_GROUP = 500_000  # multiplications that take about as long as the operations of one group


def most_examples(groups: Sequence[StudentGroup]) -> int:
    """Largest number of examples with which one product is faster than one per group.

    0 unless all groups have fixed output weights, one output, no bias and the same activation.
    """
    alike = all(
        not group.train_output
        and group.output_bias is None
        and group.output.value.shape[2] == 1
        and group.activation_name == groups[0].activation_name
        for group in groups
    )
    students = sum(len(group.members) for group in groups)
    return (len(groups) - 1) * PRODUCTS_PER_GROUP // (students * groups[-1].rows.stop) if alike else 0


class JointOutput:
    """Output layers of all groups of a stack."""

    def __init__(self, groups: Sequence[StudentGroup]) -> None:
        rows = groups[-1].rows.stop
        students = sum(len(group.members) for group in groups)
        like = groups[0].output.value
        self.activation = groups[0].activation
        self.owner = torch.empty(rows, dtype=torch.long)  # the student of each row
        self.signs = like.new_empty(2, rows, 1)  # output weights by row
        first = 0
        for group in groups:
            last = first + len(group.members)
            self.owner[group.rows] = torch.arange(first, last).repeat_interleave(group.half)
            self.signs[:, group.rows, 0] = group.output.value.reshape(2, -1)
            first = last
        self.weights = like.new_zeros(2, students, rows)
        self.weights[:, self.owner, torch.arange(rows)] = self.signs[..., 0]
        self.scale = torch.cat([like.new_full((len(group.members), 1), group.scale) for group in groups])
        self.target_rows = torch.cat([group.target_rows for group in groups])
        self.temperature = joint_temperatures(groups)

    def backward(self, z: Tensor, targets: Tensor, total: int, sample_weight: Tensor | None) -> None:
        """Overwrite z = W·x (2, rows, examples) with the gradient of the mean loss over `total` examples in it.

        `targets` is (students, 1, examples); `sample_weight` is (1 or students, examples).
        """
        halves = torch.bmm(self.weights, self.activation.value(z))  # equal halves cancel exactly
        logits = torch.add(halves[0], halves[1]).mul_(self.scale)
        gradient = loss_gradient(logits[:, None], targets, self.temperature)[:, 0]
        gradient.mul_(self.scale / total)
        if sample_weight is not None:
            gradient.mul_(sample_weight)
        self.activation.backward(gradient.index_select(0, self.owner) * self.signs, z)


def joint_temperatures(groups: Sequence[StudentGroup]) -> Tensor | None:
    """The temperatures of all students (students, 1, 1), None if all are 1."""
    if all(group.temperature is None for group in groups):
        return None
    ones = [group.output.value.new_ones(len(group.members), 1, 1) for group in groups]
    own = [group.temperature for group in groups]
    return torch.cat([one if some is None else some for one, some in zip(ones, own, strict=True)])

"""One pass over the inputs for all students: forward product, losses, backward product, block by block.

Each block of inputs is read once while it is in cache, and the gradients of all students are computed with two tall
matrix products. They are gradients of the mean loss over all rows of the pass, weighted by the sample weights if there
are any.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from softlabel.networks.joint_output import JointOutput, most_examples
from softlabel.networks.losses import loss_gradient
from softlabel.networks.stack import Stack, StudentGroup
from softlabel.networks.targets import weights_of
from softlabel.numerics import Inputs, Products

HIDDEN_BYTES = 2 << 20
INPUT_BYTES = 4 << 20


def block_rows(stack_rows: int, inputs: Inputs) -> int:
    """Number of rows per block: the block and the students' activations on it fit into the processor's cache."""
    hidden = HIDDEN_BYTES // (8 * max(1, stack_rows))
    read = INPUT_BYTES // (4 * inputs.columns)
    return min(inputs.rows, max(256, min(hidden, read)))


class FusedPass:
    """Gradients and outputs of a stack, computed in one reused buffer."""

    def __init__(self, products: Products) -> None:
        self.products = products
        self._buffer = torch.empty(0, dtype=products.dtype)
        self._groups: list[StudentGroup] = []
        self._joint: JointOutput | None = None
        self._joint_examples = 0

    def gradient(
        self,
        stack: Stack,
        inputs: Inputs,
        targets: Tensor,
        sample_weight: Tensor | None = None,
    ) -> None:
        """Set every slot's gradient of the mean loss over all inputs.

        `targets` is (target distributions, outputs, n); `sample_weight` (1 or students, n) multiplies
        the loss of each row.
        """
        for slot in stack.slots():
            slot.gradient.zero_()
        hidden = stack.hidden.value.to(self.products.input_dtype)
        size = block_rows(stack.rows, inputs)
        for start in range(0, inputs.rows, size):
            stop = min(start + size, inputs.rows)
            block = inputs.block(start, stop)
            weights = None if sample_weight is None else sample_weight[:, start:stop]
            self._add_block(stack, hidden, block, targets[..., start:stop], inputs.rows, weights)

    def logits(self, stack: Stack, inputs: Inputs, weights: Tensor) -> Iterator[tuple[slice, list[Tensor], Tensor]]:
        """For each block: its rows, f of every group (students, outputs, examples), and all W·x.

        `weights` (2, rows, columns) must match the inputs' columns. The tensors are valid until the next block.
        """
        weights = weights.to(self.products.input_dtype)
        size = block_rows(stack.rows, inputs)
        for start in range(0, inputs.rows, size):
            stop = min(start + size, inputs.rows)
            z = self._forward(weights, inputs.block(start, stop))
            outputs = []
            for group in stack.groups:
                first, second = group.halves(z)
                outputs.append(group.logits(group.activation.value(first), group.activation.value(second)))
            yield slice(start, stop), outputs, z

    def _forward(self, weights: Tensor, block: Tensor) -> Tensor:
        shape = (2, weights.shape[1], len(block))
        size = shape[0] * shape[1] * shape[2]
        if self._buffer.numel() < size:
            self._buffer = torch.empty(size, dtype=self.products.dtype)
        z = self._buffer[:size].view(shape)
        self.products.forward(weights, block, z)
        return z

    def _add_block(
        self, stack: Stack, hidden: Tensor, block: Tensor, targets: Tensor, total: int, weights: Tensor | None
    ) -> None:
        z = self._forward(hidden, block)
        joint = self._joint_output(stack, len(block))
        if joint is not None:
            own = None if weights is None else weights_of(weights, stack.members)
            joint.backward(z, targets.index_select(0, joint.target_rows), total, own)
        else:
            self._each_group(stack, z, targets, total, weights)
        self.products.accumulate(stack.hidden.gradient, z, block)

    def _joint_output(self, stack: Stack, examples: int) -> JointOutput | None:
        """The output layers of all students as one, where that is faster."""
        if self._groups is not stack.groups:  # a stack that loses students has a new list of groups
            self._groups, self._joint, self._joint_examples = stack.groups, None, most_examples(stack.groups)
        if examples > self._joint_examples:
            return None
        if self._joint is None:
            self._joint = JointOutput(stack.groups)
        return self._joint

    def _each_group(self, stack: Stack, z: Tensor, targets: Tensor, total: int, weights: Tensor | None) -> None:
        """Overwrite z with the gradient in it, group by group, and add to the gradients of output layers."""
        for group in stack.groups:
            halves = group.halves(z)
            active = tuple(group.activation.value(half) for half in halves)
            gradient = loss_gradient(
                group.logits(*active), targets.index_select(0, group.target_rows), group.temperature
            )
            own = None if weights is None else weights_of(weights, group.members)[:, None]
            gradient.mul_(group.scale / total if own is None else own * (group.scale / total))
            if group.train_output:
                for h in range(2):
                    group.output.gradient[h].baddbmm_(gradient, active[h].mT)
            if group.output_bias is not None:
                group.output_bias.gradient[0].add_(gradient.sum(2, keepdim=True), alpha=1 / group.scale)
            for h, half in enumerate(halves):
                group.activation.backward(torch.bmm(group.output.value[h].mT, gradient), half)

"""Gradients of all students on one mini-batch, in buffers that are allocated once.

A mini-batch fits into the cache, so nothing is cut into blocks; what takes time besides the two large products are many
small operations and memory that is allocated anew. Here the losses of all students are one operation, every buffer is
reused, and with bfloat16 the rounded weights are a copy that is updated in place.

Students with different orders of rows have a mini-batch each. Their hidden weights are next to each other, order by
order, so that the products of one order are one product.
"""

import torch
from torch import Tensor

from softlabel.networks.joint_output import JointOutput, joint_temperatures, most_examples
from softlabel.networks.losses import loss_gradient
from softlabel.networks.stack import Stack, StudentGroup
from softlabel.networks.targets import weights_of
from softlabel.numerics import Inputs, Products


class BatchPass:
    """Sets the gradients of a stack on one mini-batch per order of rows.

    `targets` is (target distributions, outputs, n); `sample_weight` (1 or students, n) multiplies the loss
    of each row.
    """

    def __init__(self, products: Products, inputs: Inputs, targets: Tensor, sample_weight: Tensor | None) -> None:
        self.products, self.inputs, self.sample_weight = products, inputs, sample_weight
        self.distributions, self.outputs, _ = targets.shape
        self._targets = targets.flatten(0, 1).t().contiguous()  # (n, distributions · outputs): a row is one piece
        self._groups: list[StudentGroup] | None = None

    def gradient(self, stack: Stack, rows: Tensor) -> None:
        """Set every slot's gradient of the mean loss over its mini-batch; `rows` is (orders, examples)."""
        if self._groups is not stack.groups:  # a stack that loses students has a new list of groups
            self._arrange(stack)
        rows = rows.index_select(0, self._orders)
        examples = rows.shape[1]
        if examples not in self._spaces:
            self._spaces[examples] = _Workspace(stack, self.products, self.outputs, examples)
        space = self._spaces[examples]
        block = self.inputs.batch(rows.flatten()).view(*rows.shape, -1)
        self._forward(stack, block, space)
        targets = self._batch_targets(rows)
        weights = None if self._weights is None else self._batch_weights(self._weights, rows)
        if examples <= self._joint_examples:
            if self._joint is None:
                self._joint = JointOutput(stack.groups)
            self._joint.backward(space.z, targets, examples, None if weights is None else weights[:, 0])
        else:
            self._output_layers(stack, space, targets, weights)
        self._backward(stack, block, space)

    def _arrange(self, stack: Stack) -> None:
        """What depends on the students that are left."""
        self._groups, self._spaces = stack.groups, {}
        groups, like = stack.groups, stack.initial
        counts = [len(group.members) for group in groups]
        self._orders, self._order_of = torch.unique_consecutive(
            torch.cat([group.orders for group in groups]), return_inverse=True
        )
        halves = torch.tensor([group.half for group in groups]).repeat_interleave(torch.tensor(counts))
        self._sizes = torch.zeros_like(self._orders).index_add_(0, self._order_of, halves).tolist()
        self._target_rows = self._order_of * self.distributions + torch.cat([group.target_rows for group in groups])
        scales = [like.new_full((count, 1, 1), group.scale) for count, group in zip(counts, groups, strict=True)]
        self._scales = torch.cat(scales)
        self._inverse_scales = torch.cat(
            [like.new_full((count, 1, 1), 1 / group.scale) for count, group in zip(counts, groups, strict=True)]
        )
        own = self.sample_weight
        self._weights = None if own is None else weights_of(own, stack.members)
        self._temperatures = joint_temperatures(groups)
        alike = len({group.activation_name for group in groups}) == 1
        self._overwrite = groups[0].activation.overwrite if alike else None
        self._joint: JointOutput | None = None
        self._joint_examples = most_examples(groups)
        self._rounded = torch.empty_like(stack.hidden.value, dtype=torch.bfloat16) if self.products.rounded else None

    def _forward(self, stack: Stack, block: Tensor, space: "_Workspace") -> None:
        """z = W·x (2, rows, examples), each row with the mini-batch of its order."""
        weights = stack.hidden.value if self._rounded is None else self._rounded.copy_(stack.hidden.value)
        for half in range(2):
            self._products(weights[half], block.mT, space.factor[half])
        if self._rounded is not None:
            space.z.copy_(space.factor)

    def _backward(self, stack: Stack, block: Tensor, space: "_Workspace") -> None:
        """The gradient of the hidden weights from the gradient in z."""
        gradient = stack.hidden.gradient
        if self._rounded is not None:
            space.factor.copy_(space.z)
        if len(self._orders) == 1:
            torch.mm(space.factor.flatten(0, 1), block[0], out=space.product.flatten(0, 1))
        else:
            for half in range(2):
                self._products(space.factor[half], block, space.product[half])
        if self._rounded is not None:
            gradient.copy_(space.product)

    def _products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        """out = left · right, where right (orders, …) has one matrix for the rows of every order."""
        if len(set(self._sizes)) == 1:
            shape = (len(self._sizes), self._sizes[0], -1)
            torch.bmm(left.view(shape), right, out=out.view(shape))
            return
        first = 0
        for size, own in zip(self._sizes, right, strict=True):
            torch.mm(left[first : first + size], own, out=out[first : first + size])
            first += size

    def _batch_targets(self, rows: Tensor) -> Tensor:
        """The target distribution of every student on its mini-batch, (students, outputs, examples)."""
        orders, examples = rows.shape
        part = self._targets.index_select(0, rows.flatten())
        part = part.view(orders, examples, -1).mT.reshape(-1, self.outputs, examples)
        return part.index_select(0, self._target_rows)

    def _batch_weights(self, sample_weight: Tensor, rows: Tensor) -> Tensor:
        """The weights of every student's mini-batch, (students, 1, examples)."""
        rows = rows.index_select(0, self._order_of)
        return sample_weight.expand(len(rows), -1).gather(1, rows)[:, None]

    def _output_layers(self, stack: Stack, space: "_Workspace", targets: Tensor, weights: Tensor | None) -> None:
        """Overwrite z with the gradient in it, and set the gradients of output layers."""
        in_place = self._overwrite is not None
        if self._overwrite is not None:
            self._overwrite(space.z)
        for part in space.parts:
            part.activate(in_place)
            for half in range(2):
                torch.bmm(part.output[half], part.active[half], out=part.logits[half])
        logits = torch.add(space.logits[0], space.logits[1], out=space.logits[0])  # equal halves cancel exactly
        logits.mul_(self._scales)
        for part in space.parts:
            if part.group.output_bias is not None:
                part.logits[0].add_(part.group.output_bias.value[0])
        gradient = loss_gradient(logits, targets, self._temperatures, out=space.logits[1])
        factors = self._scales / targets.shape[-1]
        gradient.mul_(factors if weights is None else weights * factors)
        sums = gradient.sum(2, keepdim=True).mul_(self._inverse_scales)
        for part in space.parts:
            own = gradient[part.students]
            if part.group.output_bias is not None:
                part.group.output_bias.gradient[0].copy_(sums[part.students])
            for half in range(2):
                if part.group.train_output:
                    torch.bmm(own, part.active[half].mT, out=part.output_gradient[half])
                torch.bmm(part.output_transposed[half], own, out=part.upstream[half])
                if not in_place:
                    part.group.activation.backward(part.upstream[half], part.z[half])
        if in_place:
            stack.groups[0].activation.backward(space.upstream, space.z)


class _Workspace:
    """Buffers for mini-batches of one size."""

    def __init__(self, stack: Stack, products: Products, outputs: int, examples: int) -> None:
        like = stack.hidden.value
        shape = (2, stack.rows, examples)
        self.z = like.new_empty(shape)
        self.factor = like.new_empty(shape, dtype=torch.bfloat16) if products.rounded else self.z
        self.product = torch.empty_like(like, dtype=torch.bfloat16) if products.rounded else stack.hidden.gradient
        self.upstream = like.new_empty(shape)
        self.logits = like.new_empty(2, len(stack.members), outputs, examples)
        self.parts: list[_GroupPart] = []
        first = 0
        for group in stack.groups:
            self.parts.append(_GroupPart(group, self, slice(first, first + len(group.members))))
            first += len(group.members)


class _GroupPart:
    """What a group sees of the buffers, by halves: (students, half, examples), (students, outputs, half) and so on."""

    def __init__(self, group: StudentGroup, space: _Workspace, students: slice) -> None:
        self.group, self.students = group, students
        self.z = self.active = group.halves(space.z)
        self.upstream = group.halves(space.upstream)
        self.logits = space.logits[0, students], space.logits[1, students]
        self.output = group.output.value.unbind(0)
        self.output_transposed = tuple(half.mT for half in self.output)
        self.output_gradient = group.output.gradient.unbind(0)

    def activate(self, in_place: bool) -> None:
        """Compute the activations, unless they have been written over z."""
        if not in_place:
            first, second = self.z
            self.active = self.group.activation.value(first), self.group.activation.value(second)

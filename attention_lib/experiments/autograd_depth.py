"""How many matrix products of a computation must wait for one another? Read off torch's own graph."""

from __future__ import annotations

from torch import Tensor
from torch.autograd.graph import Node

from attention_lib.errors import OptionError

__all__ = ["dependent_products"]

PRODUCTS = {"MmBackward0": 1, "AddmmBackward0": 1, "BmmBackward0": 1, "BaddbmmBackward0": 1}
FUSED_ATTENTION = "ScaledDotProduct"  # torch's fused paths hold two products: scores, weighted sum


def dependent_products(output: Tensor) -> int:
    """Length of the longest chain of matrix products in which each needs the one before.

    ``chain(node) = products(node) + max(chain(parent) for parent in inputs of node)``

    However many processors there are, this many products have to run one after another.

    Args:
        output: A tensor computed by torch operations with gradients on. One layer of torch's compiled
            recurrent code is a single node and hides its steps: use the layers of ``layers.recurrent``.

    Returns:
        The number of products, 0 or more.

    Raises:
        OptionError: ``output`` carries no graph.

    Example:
        Two products of the same input do not wait for each other; a product of products does.

        >>> import torch
        >>> a = torch.ones(2, 2, requires_grad=True)
        >>> dependent_products(a @ a + a @ a), dependent_products((a @ a) @ a)
        (1, 2)
    """
    if output.grad_fn is None:
        raise OptionError(
            f"output of shape {tuple(output.shape)} carries no graph; compute it from an input with "
            "requires_grad=True, and outside torch.no_grad()"
        )
    chain: dict[Node, int] = {}
    waiting = [output.grad_fn]
    while waiting:  # depth first, with an own stack: a long sequence would exhaust Python's
        node = waiting[-1]
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        unknown = [parent for parent in parents if parent not in chain]
        if unknown:
            waiting.extend(unknown)
            continue
        waiting.pop()
        chain[node] = _products(node) + max((chain[parent] for parent in parents), default=0)
    return chain[output.grad_fn]


def _products(node: Node) -> int:
    return 2 if node.name().startswith(FUSED_ATTENTION) else PRODUCTS.get(node.name(), 0)

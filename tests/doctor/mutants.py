"""Makes mutants of the correct specimens: one small change each, in the code that computes.

A mutant that gives the same outputs, weights and gradients as its original on all probed inputs is *equivalent*:
no examination can tell it from the original. What counts as different is decided here, without the doctor.
"""

import ast
import copy
import inspect
import itertools
import random
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO

import torch
from torch import nn

# Another order of unnamed or fused projections is another name for the same layer: left out.
LEFT_OUT = {"Annotated", "NamesFoundByTrying", "Ours", "OursGrouped", "OursSingle", "TorchsOwn"}
# Changes that are right all the same, and why.
ALLOWED = {
    ("cosine", "12.5 -> 1.0"): "the variant leaves its factor free",
    ("cosine", "12.5 -> 25.0"): "the variant leaves its factor free",
    ("ours", "need_weights= dropped"): "the output alone is a right answer too",
    ("ours", "True -> False"): "the output alone is a right answer too",
    ("returns_a_dictionary", "need_weights= dropped"): "the output alone is a right answer too",
    ("returns_a_dictionary", "True -> False"): "the output alone is a right answer too",
    ("into_the_batch", ".reshape(...) dropped (line 3"): "heads need not be folded into the batch",
    ("double_only", "NotEq -> Eq"): "right in the other precision",
    ("sigmoid_gates", "Sub: right side dropped"): "the variant leaves its bias free",
    ("sigmoid_gates", "USub dropped (line 3"): "the variant leaves its bias free",
    ("sigmoid_gates", "2 -> 1 (line 3"): "the variant leaves its bias free",
    ("sigmoid_gates", "2 -> -2 (line 3"): "the variant leaves its bias free",
    ("LengthsStyle", "if: always (line 17"): "lengths that have no default are always given",
    ("PadsWithZeros", "Mult: right side dropped (line 10"): "padded queries may hold anything",
    (
        "WithPaddingMask",
        "masked_fill of the other half",
    ): "a key_padding_mask may mark either what is padding or what is not",
    ("with_leading_axes", ".bool(...) dropped"): "numbers in place of booleans are a remark",
    ("torch_convention", "dtype= dropped"): "numbers in place of booleans are a remark",
    ("RotaryDecoder", "10000.0 -> 20000.0"): "the variant leaves its base free",
    ("RotaryDecoder", "USub dropped"): "the variant leaves its base free: this is 1/10000",
    ("RotaryDecoder", "1 -> -1 (line 8, 23)"): "the variant leaves its base free: this is 1/10000",
    ("KeyFirstInEveryHead", "arguments of attend swapped"): "the parts of a fused matrix may stand in any order",
    ("DecoderWithACache", "arguments of attend swapped"): "so they may here; called with its own cache it raises",
}
KINDS = ("attention", "multi_head", "softmax", "causal_mask", "split_heads", "merge_heads")


@dataclass
class Mutant:
    """A changed copy of a specimen."""

    specimen: object
    change: str
    candidate: object

    @property
    def name(self):
        return f"{self.specimen.name}: {self.change}"


# Operators: each yields (description, replacement) for a node.


def _constants(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        for other in {node.value + 1, node.value - 1, -node.value} - {node.value}:
            yield f"{node.value} -> {other}", ast.Constant(other)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        for other in {2.0 * node.value, -node.value, 1.0, 0.0} - {node.value}:
            yield f"{node.value} -> {other}", ast.Constant(other)


_SWAPS = {
    ast.Add: [ast.Sub, ast.Mult], ast.Sub: [ast.Add], ast.Mult: [ast.Div, ast.Add], ast.Div: [ast.Mult, ast.Sub],
    ast.Pow: [ast.Mult], ast.FloorDiv: [ast.Mult], ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.Lt], ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq],
    ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd],
}  # fmt: skip


def _operators(node):
    if isinstance(node, ast.BinOp):
        for other in _SWAPS.get(type(node.op), []):
            changed = copy.deepcopy(node)
            changed.op = other()
            yield f"{type(node.op).__name__} -> {other.__name__}", changed
        if isinstance(node.op, (ast.MatMult, ast.Sub, ast.Div)):
            yield f"operands of {type(node.op).__name__} swapped", ast.BinOp(node.right, node.op, node.left)
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)):
            yield f"{type(node.op).__name__}: right side dropped", node.left
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _SWAPS.get(type(node.ops[0]), []):
            yield (
                f"{type(node.ops[0]).__name__} -> {other.__name__}",
                ast.Compare(node.left, [other()], node.comparators),
            )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.USub)):
        yield f"{type(node.op).__name__} dropped", node.operand


_RENAMED = {"tril": "triu", "triu": "tril", "max": "min", "amax": "amin", "sum": "mean", "softmax": "log_softmax",
            "mean": "sum", "transpose": "swapdims", "exp": "sigmoid", "logical_not": "bool", "sqrt": "square",
            "permute": "view", "zeros": "ones", "new_zeros": "new_ones", "repeat_interleave": "repeat"}  # fmt: skip


def _calls(node):
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name = node.func.attr
    if name in _RENAMED:
        changed = copy.deepcopy(node)
        changed.func.attr = _RENAMED[name]
        yield f"{name} -> {_RENAMED[name]}", changed
    if not (isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "F", "nn", "math", "np", "ast")):
        yield f".{name}(...) dropped", node.func.value
    # torch's fused attention reads beyond keys and values of different lengths, and may end the process.
    fused = name == "scaled_dot_product_attention"
    if not fused and len(node.args) >= 2 and not any(isinstance(argument, ast.Starred) for argument in node.args):
        changed = copy.deepcopy(node)
        changed.args[0], changed.args[1] = changed.args[1], changed.args[0]
        yield f"arguments of {name} swapped", changed
    if name == "masked_fill" and node.args:
        changed = copy.deepcopy(node)
        changed.args[0] = ast.UnaryOp(ast.Invert(), changed.args[0])
        yield "masked_fill of the other half", changed
    if node.keywords:
        changed = copy.deepcopy(node)
        changed.keywords = changed.keywords[1:]
        yield f"{name}: {node.keywords[0].arg}= dropped", changed


_NAMES = {"query": "key", "key": "value", "value": "query", "q": "k", "k": "v", "v": "k", "Q": "K", "keys": "values",
          "scores": "query", "L": "S", "S": "L"}  # fmt: skip


def _names(node):
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _NAMES:
        yield f"{node.id} -> {_NAMES[node.id]}", ast.Name(_NAMES[node.id], ast.Load())


def _statements(node):
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and not isinstance(
        getattr(node, "value", None), ast.Constant
    ):
        yield "statement dropped", ast.Pass()
    if isinstance(node, ast.If):
        yield "if: body dropped", ast.Pass()
        if not node.orelse:
            yield "if: always", ast.If(ast.Constant(True), node.body, [])


OPERATORS = (_constants, _operators, _calls, _names, _statements)


def sites_of(specimen):
    """All changes to one specimen, in a fixed order: place in the tree, description, replacement."""
    if specimen.name in LEFT_OUT:
        return
    tree = ast.parse(specimen.source)
    places = [node for body in _bodies(tree.body[0]) for node in ast.walk(body)]
    for number, node in enumerate(places):
        for operator in OPERATORS:
            for change, replacement in operator(node):
                yield tree, number, f"{change} (line {getattr(node, 'lineno', 0)}, {number})", replacement


def mutants_of(specimen):
    """All mutants of one specimen that compile."""
    return filter(None, (_mutant(specimen, *site) for site in sites_of(specimen)))


def _mutant(specimen, tree, number, text, replacement):
    scope = dict(vars(sys.modules[specimen.candidate.__module__]))
    candidate = _built(_replaced(tree, number, replacement), scope, specimen.name)
    return None if candidate is None else Mutant(specimen, text, candidate)


def _bodies(definition):
    """The statements that compute: a function's body, or those of a class's methods but the constructor."""
    if isinstance(definition, ast.FunctionDef):
        return definition.body
    return [
        s
        for part in definition.body
        if isinstance(part, ast.FunctionDef) and part.name != "__init__"
        for s in part.body
    ]


def _replaced(tree, number, replacement):
    changed = copy.deepcopy(tree)
    target = [node for body in _bodies(changed.body[0]) for node in ast.walk(body)][number]
    replacement = ast.fix_missing_locations(ast.copy_location(copy.deepcopy(replacement), target))

    class Swap(ast.NodeTransformer):
        def visit(self, node):
            return replacement if node is target else super().generic_visit(node)

    return ast.fix_missing_locations(Swap().visit(changed))


def _built(tree, scope, name):
    tree.body[0].decorator_list = []
    try:
        exec(compile(tree, f"<mutant of {name}>", "exec"), scope)
    except Exception:
        return None
    return scope[name]


# Equivalence.


def why_equivalent(mutant, inputs=None):
    """The reason why nobody can tell the mutant from its original, or "" when somebody can."""
    specimen = mutant.specimen
    original, changed = specimen.fresh(), specimen.fresh(mutant.candidate)
    probes = inputs or probes_for(specimen)
    for (name, change), reason in ALLOWED.items():
        if name == specimen.name and change in mutant.change:
            return reason
    answers = [(_run(original, *probe), _run(changed, *probe)) for probe in probes]
    if all(_same(left, right) or isinstance(right, str) for left, right in answers):
        refused = [not isinstance(left, str) and isinstance(right, str) for left, right in answers]
        if not any(refused):
            return f"same outputs, weights and gradients on all {len(probes)} inputs"
        if _still_useful(answers, probes):
            return "right wherever it answers; it refuses some of the shapes that its original takes"
    if not _same_on(original, changed, probes):
        if specimen.kind == "multi_head" and _same_in_another_order(original, changed, probes):
            return "equal to the original with the parts of its fused matrix in another order"
        return ""
    return ""


def _still_useful(answers, probes):
    """Whether it still answers without a mask and, if its original takes one, with a mask."""
    kinds = {}
    for (left, right), (args, kwargs) in zip(answers, probes, strict=True):
        if not isinstance(left, str):
            masked = sum(value is not None for value in kwargs.get("_", args))
            kinds[masked] = kinds.get(masked, False) or not isinstance(right, str)
    return all(kinds.values())


def _same_on(original, changed, probes):
    return all(_same(_run(original, *probe), _run(changed, *probe)) for probe in probes)


def _same_in_another_order(original, changed, probes):
    fused = [
        part
        for part in original.modules()
        if isinstance(part, nn.Linear) and part.out_features in (2 * part.in_features, 3 * part.in_features)
    ]
    if len(fused) != 1:
        return False
    parts = fused[0].out_features // fused[0].in_features
    weight = fused[0].weight.detach().clone()
    bias = None if fused[0].bias is None else fused[0].bias.detach().clone()
    try:
        for order in itertools.permutations(range(parts)):
            fused[0].weight.data = torch.cat([weight.chunk(parts)[n] for n in order])
            if bias is not None:
                fused[0].bias.data = torch.cat([bias.chunk(parts)[n] for n in order])
            if _same_on(original, changed, probes):
                return True
        return False
    finally:
        fused[0].weight.data = weight
        if bias is not None:
            fused[0].bias.data = bias


def _run(candidate, args, kwargs):
    """All returned tensors and the gradients of the float inputs, or the error's type."""
    leaves = [a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
    if isinstance(candidate, nn.Module):
        candidate.eval()
    try:
        with redirect_stdout(StringIO()):
            value = candidate(*leaves, **kwargs)
        tensors = _tensors(value)
        grads = []
        total = sum(
            (t.double() * torch.linspace(0.3, 1.7, t.numel()).view(t.shape)).sum() for t in tensors if t.requires_grad
        )
        if isinstance(total, torch.Tensor):
            wanted = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
            grads = [
                g if g is not None else torch.zeros(()) for g in torch.autograd.grad(total, wanted, allow_unused=True)
            ]
        kept = [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return [*(t.detach() for t in tensors), *grads, *kept]
    except Exception as error:
        return type(error).__name__


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value or () for t in _tensors(part)] if isinstance(value, (list, tuple)) else []


def _same(left, right):
    if isinstance(left, str):
        return True  # where the original refuses, a mutant may do as it likes
    if isinstance(right, str) or len(left) != len(right):
        return False
    return all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a.double(), b.double(), atol=2e-5, rtol=2e-5, equal_nan=True)
        for a, b in zip(left, right, strict=True)
    )


def probes_for(specimen):
    """Inputs in all layouts, with masks in all forms, ordinary and large."""
    generator = torch.Generator().manual_seed(5)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    if specimen.kind == "causal_mask":
        return [((L,), {}) for L in (1, 3, 6, 9)] + [((L, S), {}) for L, S in ((3, 5), (1, 4), (4, 4))]
    if specimen.kind == "split_heads":
        return [((normal(B, L, H * d), H), {}) for B, L, H, d in ((2, 5, 3, 7), (3, 4, 2, 6), (1, 3, 5, 2))]
    if specimen.kind == "merge_heads":
        return [((normal(B, H, L, d),), {}) for B, L, H, d in ((2, 5, 3, 7), (3, 4, 2, 6), (1, 3, 5, 2))]
    if specimen.kind == "softmax":
        return _softmax_probes(normal, generator)
    if specimen.kind == "multi_head":
        return _module_probes(specimen, normal, generator)
    return _attention_probes(specimen, normal, generator)


def _masks(B, L, S, generator, rank):
    full = torch.rand(L, S, generator=generator) < 0.6
    full[:, 0] = True
    per = torch.rand(B, L, S, generator=generator) < 0.6
    per[..., -1] = True
    keys = torch.arange(S) < torch.tensor([S - 1 - b % 2 for b in range(B)])[:, None]
    return {
        2: [full], 3: [full, per, keys[:, None]], 4: [full, per[:, None], keys[:, None, None]],
    }[rank]  # fmt: skip


def _softmax_probes(normal, generator):
    probes = []
    for shape in ((5, 7), (2, 5, 7), (2, 3, 5, 7)):
        scores = normal(*shape)
        probes += [((scores,), {}), ((scores * 40,), {}), ((scores + 300,), {}), ((scores.double(),), {})]
        probes += [((scores, mask), {}) for mask in _masks(2, 5, 7, generator, len(shape))]
    return probes


def _attention_probes(specimen, normal, generator):
    parameters = inspect.signature(_forward(specimen.candidate)).parameters
    names = [name for name in parameters if name != "self"]
    mask_name = next((n for n in names if "mask" in n or n in ("attn_bias", "valid_lens")), None)
    probes = []
    for lead, L, S, d, d_v in (
        ((), 5, 7, 6, 4), ((2,), 5, 7, 6, 4), ((3,), 4, 4, 5, 5), ((2, 3), 5, 7, 6, 4), ((3, 2), 6, 6, 4, 4),
        ((2,), 2, 130, 3, 5), ((1, 2), 9, 9, 8, 3),
    ):  # fmt: skip
        q, k, v = normal(*lead, L, d), normal(*lead, S, d), normal(*lead, S, d_v)
        for dtype, factor in ((torch.float32, 1.0), (torch.float64, 1.0), (torch.float32, 12.0)):
            tensors = {"q": (q * factor).to(dtype), "k": (k * factor).to(dtype), "v": v.to(dtype)}
            probes.append(_arguments(names, tensors, d, None, mask_name))
            if dtype == torch.float32 and factor == 1.0 and mask_name:
                for mask in _masks(lead[0] if lead else 1, L, S, generator, len(lead) + 2):
                    probes += _with_mask(specimen, names, tensors, d, mask, mask_name)
    return probes


def _with_mask(specimen, names, tensors, d, mask, mask_name):
    convention = specimen.options.get("mask", "allowed")
    if mask_name == "valid_lens":
        return (
            [_arguments(names, tensors, d, mask.flatten(1).sum(-1), mask_name)]
            if mask.ndim == 3 and mask.shape[1] == 1
            else []
        )
    if convention == "additive":
        return [_arguments(names, tensors, d, torch.zeros(mask.shape).masked_fill(~mask, -1e9), mask_name)]
    shown = ~mask if convention == "blocked" else mask
    return [_arguments(names, tensors, d, m, mask_name) for m in (shown, shown.long())]


def _forward(candidate):
    return candidate.forward if inspect.isclass(candidate) else candidate


_ROLES = {
    "q": ("query", "q", "Q", "xq", "queries"),
    "k": ("key", "k", "K", "xk", "keys"),
    "v": ("value", "v", "V", "xv", "values"),
}


def _arguments(names, tensors, d, mask, mask_name):
    kwargs = {name: tensors[role] for name in names for role, known in _ROLES.items() if name in known}
    if "d_k" in names:
        kwargs["d_k"] = d
    if mask is not None:
        kwargs[mask_name] = mask
    order = [name for name in names if name in kwargs]
    # Positional where the order allows it, so that gradients can be taken of them.
    return _Keyword(order), {"_": [kwargs[name] for name in order]}


class _Keyword(tuple):
    """Names of keyword arguments; the tensors come along in order."""


def _module_probes(specimen, normal, generator):
    parameters = inspect.signature(_forward(specimen.candidate)).parameters
    names = [name for name in parameters if name != "self"]
    state = torch.get_rng_state()
    width = _width(specimen.fresh())
    torch.set_rng_state(state)
    probes = []
    for B, L, S in ((2, 5, 5), (3, 4, 7), (1, 6, 3)):
        x, y, z = normal(B, L, width), normal(B, S, width), normal(B, S, width)
        if any(name in names for name in ("key", "keys", "context")):
            roles = {"query": x, "queries": x, "key": y, "keys": y, "values": z, "value": z, "context": y}
            given = {name: roles.get(name, x) for name in names if name in roles or name in ("x",)}
            required = {n: None for n in names if parameters[n].default is inspect.Parameter.empty and n not in given}
            probes.append((_Keyword([*given, *required]), {"_": [*given.values(), *required.values()]}))
            S_now = S
        else:
            given, S_now = {names[0]: x}, L
            probes.append((_Keyword(given), {"_": list(given.values())}))
        mask_name = next((n for n in names if "mask" in n or n == "valid_lens"), None)
        if mask_name:
            for mask in _module_masks(specimen, mask_name, B, L, S_now, generator):
                both = given | {mask_name: mask}
                probes.append((_Keyword(both), {"_": list(both.values())}))
    return probes


def _width(module):
    names = dict(module.named_parameters())
    first = next(p for n, p in names.items() if p.ndim >= 2)
    return first.shape[-1] if first.ndim == 2 and "W_Q" not in names else first.shape[-2]


def _module_masks(specimen, mask_name, B, L, S, generator):
    keys = torch.arange(S) < torch.tensor([S - 1 - b % 2 for b in range(B)])[:, None]
    full = torch.rand(L, S, generator=generator) < 0.6
    full[:, 0] = True
    if mask_name == "valid_lens":
        return [keys.sum(-1)]
    if mask_name == "key_padding_mask":
        return [~keys]
    masks = [full, keys[:, None, None], keys]
    if specimen.options.get("mask") == "additive":
        return [torch.zeros(m.shape).masked_fill(~m, -1e9) for m in masks[:2]]
    return masks


_plain_run = _run


def _run(candidate, args, kwargs):
    """As above, for keyword probes too: the names in ``args``, the values in ``kwargs["_"]``."""
    if isinstance(args, _Keyword):
        names, values = list(args), kwargs["_"]
        return _plain_run(_by_name(candidate, names), values, {})
    return _plain_run(candidate, args, kwargs)


def _by_name(candidate, names):
    if isinstance(candidate, nn.Module):
        candidate.eval()
    return lambda *values: candidate(**dict(zip(names, values, strict=True)))


def sample(specimens, count, seed=0):
    """A fixed random sample over all mutants of all specimens."""
    sites = [(specimen, *site) for specimen in specimens for site in sites_of(specimen)]
    random.Random(seed).shuffle(sites)
    made = (_mutant(*site) for site in sites)
    return list(itertools.islice(filter(None, made), count))

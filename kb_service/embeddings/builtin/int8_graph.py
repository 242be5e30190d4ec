"""The model as an ONNX Runtime graph with 8-bit integer products.

Activations are quantised with a scale per token or a constant one, so that no text's vector depends on the others in
its batch. Inputs whose channels differ much are smoothed (Xiao et al., "SmoothQuant", arXiv:2211.10438, section 4).
See docs/decisions/0067 and 0076.
"""

# onnx is untyped where it is called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[np.float32]

_MICROSOFT = "com.microsoft"  # the domain of ONNX Runtime's own operators
_OPSETS = (("", 21), (_MICROSOFT, 1))
_IR_VERSION = 10
# GELU is never below -0.16997, its approximation by tanh never below -0.17004 (Hendrycks and Gimpel,
# arXiv:1606.08415).
_GELU_FLOOR = -0.1701
_LARGEST = 127
# Without VNNI a processor adds two products of an unsigned and a signed byte in 16 bits.
_LARGEST_PAIR = 128
_TINY = 1e-9
# SmoothQuant's alpha: the share of channel differences moved into the weights. With .5 the cosines to float32 were
# lower, with .7 on English (docs/decisions/0076).
_SMOOTHING = 0.6


@dataclass(frozen=True)
class GraphShape:
    """The model's configuration; texts of more than ``alone_from`` tokens come alone, never padded."""

    layers: int
    heads: int
    width: int
    epsilon: float
    alone_from: int


@dataclass(frozen=True)
class _QuantisedRows:
    """Quantised rows: ``(integers - middle) * scales + floor`` restores them.

    Args:
        integers: name of the unsigned bytes, (tokens, width).
        scales: name of the scales, (tokens, 1); None where the weights were multiplied by it.
        middle: name of the byte that stands for zero; None for 0.
    """

    integers: str
    scales: str | None
    middle: str | None = None
    floor: float = 0.0


@dataclass(frozen=True)
class _OperatorCall:
    kind: str
    inputs: Sequence[str]
    attributes: Mapping[str, float | onnx.GraphProto]


def _operator(output: str, call: _OperatorCall, domain: str) -> onnx.NodeProto:
    made = helper.make_node(call.kind, call.inputs, [output], name=output, domain=domain)
    made.attribute.extend(helper.make_attribute(*each) for each in call.attributes.items())
    return made


def _branch(name: str, call: _OperatorCall) -> onnx.GraphProto:
    node = _operator(name, call, _MICROSOFT)
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([node], name, [], [output])


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._known: dict[bytes, str] = {}

    def constant(self, values: NDArray[np.generic] | np.generic | Sequence[int]) -> str:
        """Add a constant and return its name; lists are int64."""
        array = np.asarray(values, dtype=np.int64) if isinstance(values, Sequence) else values
        tensor = numpy_helper.from_array(np.asarray(array))
        key = tensor.SerializeToString()
        if key not in self._known:
            tensor.name = self._known[key] = f"constant_{len(self.constants)}"
            self.constants.append(tensor)
        return self._known[key]

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: float) -> str:
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(_operator(output, _OperatorCall(kind, inputs, attributes), domain))
        return output

    def rows(self, values: str, width: int) -> str:
        """Reshape to one row per token."""
        return self.node("Reshape", values, self.constant([-1, width]))

    def in_bytes(self, values: str) -> _QuantisedRows:
        """Quantise symmetrically: a token's largest magnitude is 127 steps from the middle."""
        scales = self._scales(self.node("Abs", values), _LARGEST)
        flat = self.node("Reshape", scales, self.constant([-1]))
        middles = self.node("Expand", self.constant(np.full(1, 128, np.uint8)), self.node("Shape", flat))
        integers = self.node("QuantizeLinear", values, flat, middles, axis=0)
        return _QuantisedRows(integers, scales, self.constant(np.uint8(128)))

    def activations_in_bytes(self, values: str) -> _QuantisedRows:
        """Quantise GELU's output: from its floor to the token's maximum in 255 steps."""
        raised = self.node("Add", values, self.constant(np.float32(-_GELU_FLOOR)))
        scales = self._scales(raised, 255)
        flat = self.node("Reshape", scales, self.constant([-1]))
        integers = self.node("QuantizeLinear", raised, flat, axis=0)
        return _QuantisedRows(integers, scales, floor=_GELU_FLOOR)

    def _scales(self, magnitudes: str, steps: int) -> str:
        largest = self.node("ReduceMax", magnitudes, self.constant([-1]), keepdims=1)
        scales = self.node("Mul", largest, self.constant(np.float32(1 / steps)))
        return self.node("Max", scales, self.constant(np.float32(_TINY)))

    def in_known_bytes(self, values: str) -> _QuantisedRows:
        """Quantise values already in steps, clipped at 127."""
        middle = self.constant(np.uint8(128))
        step = self.constant(np.float32(1))
        return _QuantisedRows(self.node("QuantizeLinear", values, step, middle), None, middle)

    def dense(self, values: _QuantisedRows, weights: Floats, bias: Floats) -> str:
        """Multiply by a layer's weights and add its bias; returns the name of the float32 sums (tokens, outputs)."""
        integers, steps = quantise(weights)
        bias = bias + integers.sum(axis=1, dtype=np.int64) * steps * np.float32(values.floor)
        ends = self.constant(bias.astype(np.float32))
        product = self.node(
            "MatMulIntegerToFloat",
            values.integers,
            self.constant(np.ascontiguousarray(integers.T)),
            self.constant(np.float32(1)),
            self.constant(steps),
            values.middle or "",
            "",
            # The bias is added after a token's scale.
            *([ends] if values.scales is None else []),
            domain=_MICROSOFT,
        )
        if values.scales is None:
            return product
        return self.node("Add", self.node("Mul", product, values.scales), ends)

    def either(self, condition: str, yes: _OperatorCall, no: _OperatorCall) -> str:
        output = f"If_{len(self.nodes)}"
        branches = {"then_branch": _branch(f"{output}_then", yes), "else_branch": _branch(f"{output}_else", no)}
        self.nodes.append(_operator(output, _OperatorCall("If", [condition], branches), ""))
        return output

    def normalised(self, values: str, gain: Floats, bias: Floats, epsilon: float) -> str:
        ends = (self.constant(gain), self.constant(bias))
        return self.node("LayerNormalization", values, *ends, axis=-1, epsilon=epsilon)


def quantise(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A layer's weights in 8 bits, as finely as no sum of a pair overflows.

    Without VNNI the products of inputs 2i and 2i + 1 are added up in 16 bits, each at most 255 times a weight; only
    weights of the same sign add up.

    Args:
        weights: (outputs, inputs), an even number of inputs.

    Returns:
        (outputs, inputs), and the step size of each output, (outputs,).
    """
    even, odd = weights[:, 0::2], weights[:, 1::2]
    pairs = np.where(np.sign(even) == np.sign(odd), np.abs(even + odd), 0).max(axis=1)
    largest = np.abs(weights).max(axis=1)
    # Rounding may add half a step to each of a pair.
    steps = np.maximum(largest / _LARGEST, pairs / (_LARGEST_PAIR - 1))
    steps = np.maximum(steps, _TINY).astype(np.float32)
    return np.rint(weights / steps[:, None]).astype(np.int8), steps


class _GraphEncoder:
    def __init__(self, shape: GraphShape, weights: Mapping[str, Floats], ranges: Mapping[str, Floats]) -> None:
        self.graph = _Graph()
        self._shape, self._weights, self._ranges = shape, weights, ranges
        sizes = self.graph.node("Shape", "attention_mask")
        self._length = self.graph.node("Gather", sizes, self.graph.constant([1]))
        self._whole = self.graph.node("Concat", sizes, self.graph.constant([shape.width]), axis=0)
        self._mask = self.graph.node("Cast", "attention_mask", to=TensorProto.INT32)
        self._is_alone = self._says_alone(shape.alone_from)

    def last_hidden_state(self) -> str:
        """Add all layers; returns the output's name, (batch, length, width)."""
        hidden = self._embedded()
        for number in range(self._shape.layers):
            hidden = self._layer(f"encoder.layer.{number}.", hidden)
        return self.graph.node("Reshape", hidden, self._whole)

    def _says_alone(self, alone_from: int) -> str:
        """A node: whether it is a long text without padding.

        A short text may be padded in one batch and not in the next. The two kinds of attention round differently, and
        a text's vector must not depend on its batch.
        """
        graph = self.graph
        is_long = graph.node("Greater", self._length, graph.constant([alone_from]))
        least = graph.node("ReduceMin", self._mask, keepdims=0)
        return graph.node("And", is_long, graph.node("Cast", least, to=TensorProto.BOOL))

    def _embedded(self) -> str:
        graph, weights = self.graph, self._weights
        place = weights["embeddings.position_embeddings.weight"]
        place = place + weights["embeddings.token_type_embeddings.weight"][0]
        start, axis = graph.constant([0]), graph.constant([0])
        places = graph.node("Slice", graph.constant(place), start, self._length, axis)
        summed = graph.node("Add", "word_embeddings", places)
        return graph.rows(self._norm("embeddings", summed), self._shape.width)

    def _layer(self, name: str, hidden: str) -> str:
        graph, width = self.graph, self._shape.width
        context = graph.rows(self._attention(f"{name}attention.self.", hidden), width)
        hidden = self._added(f"{name}attention.output", graph.in_bytes(context), hidden)
        (raw,) = self._smoothed([f"{name}intermediate.dense"], hidden)
        active = graph.node("FastGelu", raw, domain=_MICROSOFT)
        return self._added(f"{name}output", graph.activations_in_bytes(active), hidden)

    def _attention(self, name: str, hidden: str) -> str:
        graph = self.graph
        dense = self._smoothed([f"{name}{part}" for part in ("query", "key", "value")], hidden)
        parts = [graph.node("Reshape", part, self._whole) for part in dense]
        heads = {"num_heads": self._shape.heads}
        # Only without a mask does the runtime use its fast kernel, in pieces that fit the cache.
        return graph.either(
            self._is_alone,
            _OperatorCall("MultiHeadAttention", parts, heads),
            _OperatorCall("MultiHeadAttention", [*parts, "", self._mask], heads),
        )

    def _smoothed(self, names: Sequence[str], hidden: str) -> list[str]:
        """Dense layers on one smoothed input; it was normalised, so no token needs a scale of its own."""
        weights = [self._weights[f"{name}.weight"] for name in names]
        strongest = np.max([np.abs(rows).max(axis=0) for rows in weights], axis=0)
        ranges = np.maximum(self._ranges[names[0]], _TINY)
        shares = ranges**_SMOOTHING / np.maximum(strongest, _TINY) ** (1 - _SMOOTHING)
        # Now the channel's step: the largest channel takes all 127.
        shares = (shares * (ranges / shares).max() / _LARGEST).astype(np.float32)
        quantised = self.graph.in_known_bytes(self.graph.node("Mul", hidden, self.graph.constant(1 / shares)))
        biases = [self._weights[f"{name}.bias"] for name in names]
        return [self.graph.dense(quantised, rows * shares, bias) for rows, bias in zip(weights, biases, strict=True)]

    def _added(self, name: str, values: _QuantisedRows, hidden: str) -> str:
        weights, bias = (self._weights[f"{name}.dense.{part}"] for part in ("weight", "bias"))
        summed = self.graph.node("Add", self.graph.dense(values, weights, bias), hidden)
        return self._norm(name, summed)

    def _norm(self, name: str, values: str) -> str:
        gain, bias = (self._weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return self.graph.normalised(values, gain, bias, self._shape.epsilon)


def save_quantised(
    target: Path, shape: GraphShape, weights: Mapping[str, Floats], ranges: Mapping[str, Floats]
) -> None:
    """Write the graph: ``word_embeddings`` and ``attention_mask`` to ``last_hidden_state``.

    Args:
        weights: by the names of ``BertModel``.
        ranges: the largest magnitude of each input channel, (width,), by the name of its dense layer; for
            ``attention.self.query`` and ``intermediate.dense``.
    """
    encoder = _GraphEncoder(shape, weights, ranges)
    last = encoder.last_hidden_state()
    graph = encoder.graph
    graph.nodes.append(helper.make_node("Identity", [last], ["last_hidden_state"]))
    sizes = ["batch", "length"]
    inputs = [
        helper.make_tensor_value_info("word_embeddings", TensorProto.FLOAT, [*sizes, shape.width]),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, sizes),
    ]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*sizes, shape.width])]
    made = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS]
    model = helper.make_model(made, opset_imports=opsets, ir_version=_IR_VERSION)
    # Weights in a separate file are mapped instead of read.
    weights_file = target.with_suffix(".bin")
    onnx.save(model, target, save_as_external_data=True, location=weights_file.name)
    # onnx makes it readable for its owner only; an image is built and run by different users.
    shutil.copymode(target, weights_file)

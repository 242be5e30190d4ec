"""Converts the packaged PyTorch weights into the file a backend loads: once, in a child process."""

# torch, transformers and OpenVINO are untyped where they are called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

import warnings
from pathlib import Path

import numpy as np
import openvino
import torch
from openvino import opset13
from transformers import AutoModel
from transformers.utils import logging as transformers_logging

from kb_service.embeddings.minilm.backends import Backend


class _LastHiddenState(torch.nn.Module):
    """The model with token types fixed to 0 and the padding mask already additive.

    Handed a two-dimensional mask, transformers traces a mask builder with data-dependent
    branches into the graph; the four-dimensional one passes through untouched.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        padding = 1.0 - attention_mask[:, None, None, :].to(torch.float32)
        return self.model(
            input_ids=input_ids,
            attention_mask=padding * torch.finfo(torch.float32).min,
            token_type_ids=torch.zeros_like(input_ids),
        ).last_hidden_state


def convert(weights: str, folder: str, backend: str) -> None:
    """Write ``backend``'s model file into ``folder``; plain strings, for a spawned process.

    Args:
        weights: Folder of the packaged model (``model.safetensors``, ``config.json``).
        folder: An empty folder that the caller moves into place afterwards.
        backend: A ``Backend`` value.
    """
    target = Path(folder)
    exported = target / "exported.onnx"
    _export(Path(weights), exported)
    if not Backend(backend).is_openvino:
        exported.rename(target / "model.onnx")
        return
    # read_model, not convert_model: the latter reports its use over the network.
    graph = openvino.Core().read_model(exported)
    if Backend(backend) is Backend.OPENVINO_INT8:
        _quantise(graph)
    openvino.save_model(graph, target / "model.xml", compress_to_fp16=False)
    del graph  # it maps the exported file
    exported.unlink()


def _quantise(graph: openvino.Model) -> None:
    """Replace the layers' float32 weights by integers of 8 bits, with a scale per output."""
    for layer in graph.get_ops():
        if layer.get_type_name() != "MatMul":
            continue
        weights = layer.input_value(1).get_node()
        if weights.get_type_name() != "Constant":
            continue
        rows = weights.data if layer.get_attributes()["transpose_b"] else weights.data.T
        scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12) / 127
        integers = opset13.constant(np.rint(rows / scales).astype(np.int8))
        restored = opset13.multiply(
            opset13.convert(integers, "f32"), opset13.constant(scales.astype(np.float32))
        )
        replacement = opset13.matmul(layer.input_value(0), restored, False, True)
        replacement.set_friendly_name(layer.get_friendly_name())
        for reader in layer.output(0).get_target_inputs():
            reader.replace_source_output(replacement.output(0))
    graph.validate_nodes_and_infer_types()


def _export(weights: Path, target: Path) -> None:
    transformers_logging.disable_progress_bar()
    model = AutoModel.from_pretrained(
        weights, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    )
    example = torch.ones(2, 16, dtype=torch.int64)
    names = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"}}
    with warnings.catch_warnings(), torch.no_grad():
        # The TorchScript exporter is deprecated, but takes a second and needs onnx alone.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            _LastHiddenState(model.eval()).eval(),
            (example, example),
            target,
            input_names=list(names),
            output_names=["last_hidden_state"],
            dynamic_axes={**names, "last_hidden_state": {0: "batch", 1: "length"}},
            opset_version=17,
            dynamo=False,
        )

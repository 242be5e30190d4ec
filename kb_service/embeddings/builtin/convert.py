"""Conversion of a packaged model into the files that a backend loads."""

# torch, transformers and OpenVINO are untyped where they are called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

import warnings
from pathlib import Path

import numpy as np
import openvino
import torch
from transformers import BertModel

from kb_service.embeddings.builtin.int8_graph import Floats, GraphShape, save_quantised
from kb_service.embeddings.builtin.runtime import Backend
from kb_service.embeddings.builtin.weights import PackagedWeights

# Sequences and tokens for measuring input ranges.
_SAMPLE = (32, 64)
# A few outliers are clipped for finer steps of all others.
_RANGE_PERCENTILE = 99.9


class _LastHiddenState(torch.nn.Module):
    """The model with token types fixed to 0 and the padding mask already additive.

    Handed a two-dimensional mask, transformers traces a mask builder with data-dependent branches into the graph; the
    four-dimensional one passes through untouched.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, word_embeddings: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        padding = 1.0 - attention_mask[:, None, None, :].to(torch.float32)
        return self.model(
            inputs_embeds=word_embeddings,
            attention_mask=padding * torch.finfo(torch.float32).min,
            token_type_ids=torch.zeros_like(attention_mask),
        ).last_hidden_state


def convert(weights: PackagedWeights, folder: Path, backend: Backend) -> None:
    """Write a backend's model file, the table of words and the tokenizer into an empty folder."""
    weights.words.save(folder)
    weights.tokenizer.save(folder)
    if backend is Backend.ONNXRUNTIME_INT8:
        _save_quantised(weights, folder / backend.model_file)
        return
    exported = folder / "exported.onnx"
    _export(weights.bert, exported)
    if not backend.is_openvino:
        exported.rename(folder / backend.model_file)
        return
    # read_model, not convert_model: the latter reports its use over the network.
    graph = openvino.Core().read_model(exported)
    openvino.save_model(graph, folder / backend.model_file, compress_to_fp16=False)
    del graph  # it maps the exported file
    exported.unlink()


def _save_quantised(weights: PackagedWeights, target: Path) -> None:
    model = weights.bert
    shape = GraphShape(
        layers=model.config.num_hidden_layers,
        heads=model.config.num_attention_heads,
        width=model.config.hidden_size,
        epsilon=model.config.layer_norm_eps,
        alone_from=Backend.ONNXRUNTIME_INT8.batch_tokens // 2,
    )
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    save_quantised(target, shape, tensors, _ranges(weights))


def _ranges(weights: PackagedWeights) -> dict[str, Floats]:
    """The input range of each channel of each dense layer, by the layer's name.

    Measured on random tokens: cosines to float32 equal those with ranges from English paragraphs
    (docs/decisions/0067), without favouring a language.
    """
    model, tokenizer = weights.bert, weights.tokenizer
    ranges: dict[str, Floats] = {}

    def watch(name: str) -> None:
        def note(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            rows = inputs[0].abs().flatten(0, 1).numpy()
            ranges[name] = np.percentile(rows, _RANGE_PERCENTILE, axis=0).astype(np.float32)

        model.get_submodule(name).register_forward_pre_hook(note)

    for number in range(model.config.num_hidden_layers):
        for part in ("attention.self.query", "intermediate.dense"):
            watch(f"encoder.layer.{number}.{part}")
    ordinary = weights.ordinary_ids
    ids = np.random.default_rng(0).integers(ordinary.start, ordinary.stop, _SAMPLE)
    ids[:, 0], ids[:, -1] = tokenizer.first_id, tokenizer.last_id
    with torch.no_grad():
        model(
            inputs_embeds=torch.from_numpy(weights.words.rows(ids)),
            attention_mask=torch.ones(_SAMPLE, dtype=torch.int64),
        )
    return ranges


def _export(model: BertModel, target: Path) -> None:
    mask = torch.ones(2, 16, dtype=torch.int64)
    names = {"word_embeddings": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"}}
    with warnings.catch_warnings(), torch.no_grad():
        # The TorchScript exporter is deprecated, but takes a second and needs onnx alone.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            _LastHiddenState(model).eval(),
            (torch.zeros(2, 16, model.config.hidden_size), mask),
            target,
            input_names=list(names),
            output_names=["last_hidden_state"],
            dynamic_axes={**names, "last_hidden_state": {0: "batch", 1: "length"}},
            opset_version=17,
            dynamo=False,
        )

"""Conversion of the packaged PyTorch weights into the file that a backend loads."""

# torch, transformers and OpenVINO are untyped where they are called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

import warnings
from pathlib import Path

import numpy as np
import openvino
import torch
from transformers import AutoModel, BertModel
from transformers.utils import logging as transformers_logging

from kb_service.embeddings.minilm.int8_graph import Floats, GraphShape, save_quantised
from kb_service.embeddings.minilm.runtime import Backend

# Sequences and tokens for measuring input ranges.
_SAMPLE = (32, 64)
# A few outliers are clipped for finer steps of all others.
_RANGE_PERCENTILE = 99.9
# The vocabulary's ordinary words come after unused entries and the two special tokens.
_FIRST_WORD, _CLS, _SEP = 1000, 101, 102


class _LastHiddenState(torch.nn.Module):
    """The model with token types fixed to 0 and the padding mask already additive.

    Handed a two-dimensional mask, transformers traces a mask builder with data-dependent branches into the graph; the
    four-dimensional one passes through untouched.
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
    """Write a ``Backend``'s model file into an empty folder, from the package's; plain strings, for a spawned process."""
    target = Path(folder)
    model = _load(Path(weights))
    if Backend(backend) is Backend.ONNXRUNTIME_INT8:
        _save_quantised(model, target / "model.onnx")
        return
    exported = target / "exported.onnx"
    _export(model, exported)
    if not Backend(backend).is_openvino:
        exported.rename(target / "model.onnx")
        return
    # read_model, not convert_model: the latter reports its use over the network.
    graph = openvino.Core().read_model(exported)
    openvino.save_model(graph, target / "model.xml", compress_to_fp16=False)
    del graph  # it maps the exported file
    exported.unlink()


def _load(weights: Path) -> BertModel:
    transformers_logging.disable_progress_bar()
    model = AutoModel.from_pretrained(weights, attn_implementation="eager", dtype=torch.float32, local_files_only=True)
    return model.eval()


def _save_quantised(model: BertModel, target: Path) -> None:
    shape = GraphShape(
        layers=model.config.num_hidden_layers,
        heads=model.config.num_attention_heads,
        width=model.config.hidden_size,
        epsilon=model.config.layer_norm_eps,
        alone_from=Backend.ONNXRUNTIME_INT8.batch_tokens // 2,
    )
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    save_quantised(target, shape, weights, _ranges(model))


def _ranges(model: BertModel) -> dict[str, Floats]:
    """The input range of each channel of each dense layer, by the layer's name.

    Measured on random tokens: cosines to float32 equal those with ranges from English paragraphs
    (docs/decisions/0067), without favouring a language.
    """
    ranges: dict[str, Floats] = {}

    def watch(name: str) -> None:
        def note(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            rows = inputs[0].abs().flatten(0, 1).numpy()
            ranges[name] = np.percentile(rows, _RANGE_PERCENTILE, axis=0).astype(np.float32)

        model.get_submodule(name).register_forward_pre_hook(note)

    for number in range(model.config.num_hidden_layers):
        for part in ("attention.self.query", "intermediate.dense"):
            watch(f"encoder.layer.{number}.{part}")
    chance = torch.Generator().manual_seed(0)
    ids = torch.randint(_FIRST_WORD, model.config.vocab_size, _SAMPLE, generator=chance)
    ids[:, 0], ids[:, -1] = _CLS, _SEP
    with torch.no_grad():
        model(input_ids=ids, attention_mask=torch.ones_like(ids))
    return ranges


def _export(model: BertModel, target: Path) -> None:
    example = torch.ones(2, 16, dtype=torch.int64)
    names = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"}}
    with warnings.catch_warnings(), torch.no_grad():
        # The TorchScript exporter is deprecated, but takes a second and needs onnx alone.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            _LastHiddenState(model).eval(),
            (example, example),
            target,
            input_names=list(names),
            output_names=["last_hidden_state"],
            dynamic_axes={**names, "last_hidden_state": {0: "batch", 1: "length"}},
            opset_version=17,
            dynamo=False,
        )

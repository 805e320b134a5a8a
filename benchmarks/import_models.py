"""Imports architectures of Hugging Face from their default configurations, and compares with PyTorch's own counts.

``python benchmarks/import_models.py [NAME ...]``: of the 24 that were built with, and of others that were not, whether
parameters are equal, forward and backward operations of products as a ratio to `torch.utils.flop_counter`'s on the same
program, seconds, and the most memory so far.
"""

import resource
import sys
import time
import warnings
from typing import Any

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from flexnet.errors import FlexNetError
from flexnet.importing.entry import import_torch
from flexnet.importing.export import exported

KNOWN = str.split(
    "ResNet ConvNext ViT Swin MobileNetV2 EfficientNet GPT2 Llama Mistral Mixtral Qwen2 Qwen2Moe Gemma2 Phi3 OPT "
    "GPTNeoX Bloom Falcon DeepseekV3 Bert Roberta T5 Whisper Albert"
)
OTHERS = str.split(
    "DistilBert Electra DebertaV2 XLNet Bart Pegasus MBart SiglipVision CLIPVision Segformer RegNet MobileViT DeiT "
    "Beit Data2VecText Wav2Vec2 Hubert StableLm Cohere Olmo Qwen3 Phi Starcoder2 CodeGen GPTJ Mpt Granite "
    "Longformer Funnel LayoutLM XLMRoberta GPTBigCode Qwen3Moe Swinv2 Dinov2 PoolFormer Levit Cvt MobileBert FNet"
)
BATCH, STEPS = 2, 64


def build(name: str) -> torch.nn.Module:
    """A model of its default configuration, without memory."""
    config = getattr(transformers, f"{name}Config")()
    with torch.device("meta"):
        model: torch.nn.Module = transformers.AutoModel.from_config(config)
    return model


def inputs_of(model: Any) -> dict[str, Any]:
    """A small batch of what a model reads."""
    config, main = model.config, model.main_input_name
    if main == "pixel_values":
        size = getattr(config, "image_size", 224) or 224
        size = size if isinstance(size, int) else size[0]
        return {main: torch.empty(BATCH, getattr(config, "num_channels", 3), size, size, device="meta")}
    tokens = torch.zeros(BATCH, STEPS, dtype=torch.long, device="meta")
    if main == "input_features":
        sizes = BATCH, config.num_mel_bins, 2 * config.max_source_positions
        return {main: torch.empty(sizes, device="meta"), "decoder_input_ids": tokens}
    if main == "input_values":
        return {main: torch.empty(BATCH, 16000, device="meta")}
    found: dict[str, Any] = {main: tokens}
    if getattr(config, "is_encoder_decoder", False):
        found["decoder_input_ids"] = tokens
    if getattr(config, "use_cache", False):
        found["use_cache"] = False
    return found


def counted(model: torch.nn.Module, inputs: dict[str, Any]) -> tuple[int, int]:
    """Forward and backward operations by PyTorch's counter; its count of rows by experts is none."""
    run = exported(model, (), inputs).module(check_guards=False)
    with torch.device("meta"), FlopCounterMode(display=False) as forward:
        results = [one for one in run(**inputs) if one.requires_grad]
    with FlopCounterMode(display=False) as backward:
        torch.autograd.backward(results, [torch.empty_like(one) for one in results])
    return forward.get_total_flops(), backward.get_total_flops()


def line_of(name: str) -> str:
    """A row of the table."""
    model = build(name)
    inputs = inputs_of(model)
    began = time.perf_counter()
    try:
        found = import_torch(model, inputs, name=name)
    except FlexNetError as error:
        return f"{name:<14} {error}"
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    same = found.graph.n_parameter == sum(one.numel() for one in model.parameters())
    works = [work for work in found.works.values() if work.name != "grouped_mm"]  # which PyTorch does not count
    forward, backward = counted(model, inputs)
    ratios = sum(work.forward for work in works) / forward, sum(work.counted for work in works) / backward
    return (
        f"{name:<14} {found.graph.n_parameter:>15,} {'equal' if same else 'UNEQUAL':>8} {ratios[0]:>9.5f} "
        f"{ratios[1]:>9.5f} {len(found.graph.operators):>6} {seconds:>7.1f} {peak:>7.2f}"
    )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    print(
        f"{'model':<14} {'parameters':>15} {'PyTorch':>8} {'forward':>9} {'backward':>9} {'ops':>6} {'s':>7} {'GB':>7}"
    )
    for name in sys.argv[1:] or [*KNOWN, *OTHERS]:
        print(line_of(name), flush=True)


if __name__ == "__main__":
    main()

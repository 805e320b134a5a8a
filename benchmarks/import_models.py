"""Imports architectures of Hugging Face from their default configurations, and compares with PyTorch's own counts.

``python benchmarks/import_models.py [NAME ...]``: of the 24 that were built with, and of others that were not, whether
parameters are equal, forward and backward operations of products as a ratio to `torch.utils.flop_counter`'s on the same
program, seconds, and the most memory so far.
"""

import inspect
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
    "DistilBert Electra Deberta DebertaV2 XLNet Bart Pegasus MBart CLIP Siglip Segformer RegNet MobileViT DeiT Beit "
    "Data2VecText Data2VecAudio Wav2Vec2 Hubert WavLM Mamba2 Rwkv StableLm Cohere Olmo Olmo2 Qwen3 Qwen3Moe Gemma "
    "Gemma3Text Llama4Text GptOss Phi Phimoe Starcoder2 CodeGen GPTJ GPTBigCode Mpt Granite Glm LayoutLM MobileNetV1 "
    "PoolFormer Levit DPT Blip Persimmon SqueezeBert Nystromformer XLMRoberta RoFormer FNet ConvNextV2 Swinv2 Dinov2 "
    "DINOv3ViT Bit ViTMAE Olmoe Longformer LED Cvt MobileBert ConvBert VideoMAE Mask2Former"
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
    read = inspect.signature(model.forward).parameters
    tokens = torch.zeros(BATCH, STEPS, dtype=torch.long, device="meta")
    if main == "input_features":
        bins = getattr(config, "num_mel_bins", getattr(config, "input_feat_per_channel", 80))
        steps = 2 * getattr(config, "max_source_positions", 500)
        shape = (BATCH, bins, steps) if hasattr(config, "num_mel_bins") else (BATCH, steps, bins)
        found: dict[str, Any] = {main: torch.empty(shape, device="meta")}
    elif main == "input_values":
        found = {main: torch.empty(BATCH, 16000, device="meta")}
    else:
        found = {} if main.startswith("pixel_values") else {main: tokens}
    for name in ("pixel_values", "pixel_values_videos"):
        if name in (main, *(read if hasattr(config, "vision_config") else ())):
            found[name] = _images(config, videos="videos" in name or hasattr(config, "num_frames"))
    if "input_ids" in read and "pixel_values" in found:
        found["input_ids"] = tokens
    if "decoder_input_ids" in read:
        found["decoder_input_ids"] = tokens
    if getattr(config, "use_cache", False) and "use_cache" in read:
        found["use_cache"] = False
    return found


def _images(config: Any, *, videos: bool) -> torch.Tensor:
    config = getattr(config, "vision_config", config)
    size = getattr(config, "image_size", 224) or 224
    height, width = (size, size) if isinstance(size, int) else size
    frames = [getattr(config, "num_frames", 16)] if videos else []
    return torch.empty(BATCH, *frames, getattr(config, "num_channels", 3), height, width, device="meta")


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

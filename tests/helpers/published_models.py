"""Models of the zoo as Hugging Face names them."""

from typing import Any

__all__ = ["config_of"]


def config_of(model: str, chosen: Any) -> tuple[str, str, dict[str, Any]]:
    """Names of Hugging Face's configuration and module of a model of the zoo, and the sizes of its settings."""
    sizes: dict[str, Any] = {
        name: getattr(chosen, ours)
        for name, ours in {
            "vocab_size": "vocabulary_size",
            "hidden_size": "hidden_size",
            "intermediate_size": "intermediate_size",
            "num_hidden_layers": "num_layers",
            "num_attention_heads": "num_heads",
            "num_key_value_heads": "num_kv_heads",
            "num_local_experts": "num_experts",
            "image_size": "image_size",
            "patch_size": "patch_size",
        }.items()
        if hasattr(chosen, ours)
    }
    width = sizes["hidden_size"]
    if model == "gpt":
        more = {"n_positions": chosen.positions, "n_embd": width, "n_layer": chosen.num_layers}
        return "GPT2Config", "GPT2LMHeadModel", {**more, "n_head": chosen.num_heads}
    if model == "t5":
        more = {"d_model": width, "d_ff": chosen.intermediate_size, "d_kv": chosen.head_size}
        return (
            "T5Config",
            "T5ForConditionalGeneration",
            {**more, "num_layers": chosen.num_layers, "num_heads": chosen.num_heads},
        )
    if model == "vit":
        return "ViTConfig", "ViTForImageClassification", {**sizes, "intermediate_size": 4 * width, "num_labels": 1000}
    if model == "bert":
        return "BertConfig", "BertForMaskedLM", {**sizes, "intermediate_size": 4 * width}
    title = model.capitalize()
    return f"{title}Config", f"{title}ForCausalLM", sizes

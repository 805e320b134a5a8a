"""The models: operators in order, shapes, and settings a user may get wrong."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flexnet.commands.cli import run
from flexnet.cost.measurement_file import read_measurement
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo import MODELS, Flag, ModelSpec
from flexnet.model.zoo.dlrm import DlrmSettings, build_dlrm
from flexnet.model.zoo.settings import option
from flexnet.model.zoo.transformer import TransformerSettings


def build(model: str, batch_size: int = 64, **flags: Any) -> ModelGraph:
    return MODELS[model].build({"--" + name.replace("_", "-"): value for name, value in flags.items()}, batch_size)


def types(graph: ModelGraph) -> list[str]:
    return [op.name.rsplit("_", 1)[0] for op in graph.operators]


def sizes(graph: ModelGraph, *kinds: OpType) -> list[int]:
    """Widths of the outputs of operators of these kinds, in order."""
    return [op.outputs[0].dims[0] for op in graph.operators if op.kind in kinds]


def test_registry_names_models_and_programs() -> None:
    names = ["dlrm", "candle_uno", "transformer", "vgg", "alexnet", "resnet", "inception", "ncf", "moe"]
    todays = ["gpt", "llama", "mixtral", "vit", "bert", "t5"]
    assert list(MODELS) == names + todays
    programs = [(name, name + "sim") for name in names] + [(name, "") for name in todays]
    assert [(spec.name, spec.program) for spec in MODELS.values()] == programs
    assert all(spec.summary and "\n" not in spec.summary for spec in MODELS.values())


def test_a_program_adds_its_own_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @dataclass(frozen=True)
    class Settings:
        width: int = option(8, "width of the layer")

    def make(settings: Settings, batch_size: int) -> ModelGraph:
        b = GraphBuilder("mine", batch_size)
        b.dense(b.input(4), settings.width)
        return b.build()

    monkeypatch.setitem(MODELS, "mine", ModelSpec("mine", "one layer", Settings, make))
    assert build("mine", width=16).keys() == ("Dense_4_16",)
    command = ["profile", "mine", "--width", "32", "--device", "analytic", "-o", str(tmp_path / "mine.json")]
    assert run(command) == 0
    assert "1 operators" in capsys.readouterr().out
    assert read_measurement(tmp_path / "mine.json").entries.keys() == {"Dense_4_32"}


@pytest.mark.parametrize("model", MODELS)
def test_every_model_builds_with_defaults(model: str) -> None:
    graph = MODELS[model].build({}, 64)
    assert (graph.name, graph.batch_size) == (model, 64)
    for i, op in enumerate(graph.operators):
        assert op.index == i
        assert op.name.endswith(f"_{100 + i}")
        for source in op.inputs:
            if source.op is not None:
                assert source.op < i
                assert graph.operators[source.op].outputs[source.output] == source.tensor


@pytest.mark.parametrize("model", MODELS)
def test_defaults_as_text_build_the_same_model(model: str) -> None:
    spec = MODELS[model]
    assert spec.build({flag.name: flag.default_text for flag in spec.flags}, 64) == spec.build({}, 64)
    assert spec.build(dict.fromkeys([flag.name for flag in spec.flags]), 64) == spec.build({}, 64)


def test_flags_are_the_originals_with_their_defaults() -> None:
    flags = {
        name: [(flag.name, flag.default_text) for flag in spec.flags if flag.effective]
        for name, spec in MODELS.items()
        if spec.program
    }
    assert flags == {
        "dlrm": [
            ("--arch-sparse-feature-size", "2"),
            ("--arch-embedding-size", "4"),
            ("--embedding-bag-size", "1"),
            ("--arch-mlp-bot", "4-2"),
            ("--arch-mlp-top", "8-2"),
            ("--arch-interaction-op", "cat"),
            ("--sigmoid-bot", "-1"),
        ],
        "candle_uno": [("--dense-layers", "4192-4192-4192"), ("--dense-feature-layers", "4192-4192-4192")],
        "transformer": [
            ("--num-layers", "12"),
            ("--hidden-size", "512"),
            ("--num-heads", "16"),
            ("--sequence-length", "128"),
        ],
        "vgg": [("--variant", "original")],
        "alexnet": [],
        "resnet": [("--variant", "original")],
        "inception": [("--variant", "original")],
        "ncf": [
            ("--unum_per_table", "2"),
            ("--inum_per_table", "2"),
            ("--factor_num", "16"),
            ("--edim_per_table", "16"),
            ("--ntables", "4"),
            ("--embedding-bag-size", "1"),
            ("--arch-mlp-top", "8-2"),
        ],
        "moe": [],
    }
    ignored = {name: [flag.name for flag in spec.flags if not flag.effective] for name, spec in MODELS.items()}
    assert {name: names for name, names in ignored.items() if names} == {
        "dlrm": ["--loss-threshold", "--sigmoid-top", "--data-size"],
        "transformer": ["--embedding-size"],
        "ncf": ["--loss-threshold", "--sigmoid-top", "--sigmoid-bot", "--arch-interaction-op", "--data-size"],
    }
    assert all(flag.help for spec in MODELS.values() for flag in spec.flags)


def test_flag_spellings_and_kinds() -> None:
    flags = {flag.name: flag for flag in MODELS["ncf"].flags}
    assert flags["--unum_per_table"].aliases == ("--unum-per-table",)
    assert flags["--ntables"].aliases == ()
    assert flags["--arch-mlp-top"].dest == "arch_mlp_top"
    assert [
        flags[name].kind for name in ("--ntables", "--arch-mlp-top", "--loss-threshold", "--arch-interaction-op")
    ] == [
        "int",
        "int list",
        "float",
        "str",
    ]
    assert MODELS["ncf"].build({"--unum-per-table": "7"}, 8).operators[0].key == "Embed_7x16"


def test_ignored_flags_change_nothing() -> None:
    assert build("dlrm", loss_threshold="0.5", sigmoid_top="3", data_size="1000") == build("dlrm")


def test_presets_are_settings_that_other_flags_change() -> None:
    small = build("llama", preset="llama3-70b", num_layers=2, sequence_length="16")
    assert sizes(small, OpType.TOKEN_EMBEDDING) == [8192]
    assert len(sizes(small, OpType.SCALED_DOT_PRODUCT)) == 2 and small.operators[0].outputs[0].dims[1] == 16
    flag = MODELS["mixtral"].flags[0]
    assert (flag.name, flag.default_text) == ("--preset", "8x7b") and "8x22b" in flag.help
    assert build("mixtral", preset="8x7b") == build("mixtral")


@pytest.mark.parametrize(
    ("model", "flags", "sentence"),
    [
        (
            "llama",
            {"preset": "llama3-8"},
            r"--preset is 'llama3-8'; it must be llama3-8b, llama3-70b or llama3-405b \(did",
        ),
        ("gpt", {"preset": ""}, "--preset is ''; it must be gpt2 or gpt3-175b"),
        ("gpt", {"sequence_length": 2048}, "--sequence-length is 2048; it must be at most --positions 1024"),
        ("bert", {"num_heads": 7}, "--num-heads is 7; it must divide --hidden-size 768"),
        ("bert", {"sequence_length": 513}, "--sequence-length is 513; it must be at most --positions 512"),
        ("llama", {"num_kv_heads": 5}, "--num-kv-heads is 5; it must divide --num-heads 32"),
        ("llama", {"num_heads": 4096}, "--num-heads is 4096; it must divide --hidden-size 4096 into an even number"),
        ("llama", {"num_layers": 10001}, "--num-layers is 10001; it must be a whole number from 1 to 10000"),
        ("mixtral", {"top_k": 9}, "--top-k is 9; it must be at most --num-experts 8"),
        ("mixtral", {"capacity_factor": 0.0}, "--capacity-factor is 0.0; it must be a finite number above 0"),
        ("t5", {"head_size": 0}, "--head-size is 0; it must be at least 1"),
        ("vit", {"patch_size": 15}, "--patch-size is 15; it must divide --image-size 224"),
        ("vit", {"num_heads": 5}, "--num-heads is 5; it must divide --hidden-size 768"),
        (
            "resnet",
            {"variant": "papers"},
            r"--variant is 'papers'; it must be original or paper \(did you mean paper\?\)",
        ),
    ],
)
def test_settings_of_todays_models_are_checked(model: str, flags: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FlexNetError, match="^" + sentence):
        build(model, **flags)


def test_models_that_have_layers_know_their_blocks() -> None:
    (layers,) = build("llama", num_layers=3).blocks
    first, second, _ = layers.repetitions
    graph = build("llama", num_layers=3)
    assert [graph.operators[i].key for i in first] == [graph.operators[i].key for i in second]
    assert layers.end == len(graph.operators) - 3
    encoder, decoder = build("t5").blocks
    assert (encoder.count, decoder.count) == (12, 12)
    assert build("dlrm").blocks == () == build("alexnet").blocks


def test_dlrm() -> None:
    graph = build(
        "dlrm",
        arch_mlp_bot="13-512-64",
        arch_embedding_size="100-200-300",
        arch_sparse_feature_size=64,
        arch_mlp_top="7-1024-1",
        embedding_bag_size="10",
    )
    assert types(graph) == ["Dense"] * 2 + ["Embedding"] * 3 + ["Concat"] + ["Dense"] * 2
    assert [op.key for op in graph.operators] == [
        "Dense_13_512",
        "Dense_512_64",
        "Embed_100x64",
        "Embed_200x64",
        "Embed_300x64",
        "Concat_1",
        "Dense_256_1024",
        "Dense_1024_1",
    ]
    assert [source.op for source in graph.operators[5].inputs] == [1, 2, 3, 4]
    index = graph.operators[2].inputs[0]
    assert (index.op, index.tensor.dims, index.tensor.dtype) == (None, (10, 64), "int64")
    assert graph.operators[2].weights[0].volume == 6400


def test_dlrm_activations() -> None:
    relu, sigmoid = int(OpType.RELU), int(OpType.SIGMOID)
    graph = build("dlrm", arch_mlp_bot="4-4-4-2", sigmoid_bot="1", arch_mlp_top="8-8-2")
    dense = [op.attrs["activation"] for op in graph.operators if op.kind == OpType.LINEAR]
    assert dense == [relu, sigmoid, relu, relu, sigmoid]


def test_candle_uno_joins_features_in_alphabetical_order() -> None:
    graph = build("candle_uno", dense_layers="16-1", dense_feature_layers="8-4")
    towers = [in_ for width in (942, 5270, 2048, 5270, 2048) for in_ in (f"Dense_{width}_8", "Dense_8_4")]
    assert [op.key for op in graph.operators] == [*towers, "Concat_1", "Dense_22_16", "Dense_16_1", "Dense_1_1"]
    assert [source.op for source in graph.operators[10].inputs] == [1, None, None, 3, 5, 7, 9]
    assert graph.operators[-1].attrs["activation"] == 0


def test_transformer_layer() -> None:
    graph = build("transformer", num_layers=2, hidden_size=32, num_heads=4, sequence_length=8)
    encoder = ["MultiHeadAttention", "Add", "Dense", "Dense"]
    layer = [*encoder, "MultiHeadAttention", "Add", *encoder]
    assert types(graph) == [*layer, *layer, "Dense"]
    sources = [[source.op for source in op.inputs] for op in graph.operators]
    assert sources[:10] == [[None] * 3, [0, None], [1], [2], [None] * 3, [4, None], [5, 3, 3], [6, 5], [7], [8]]
    assert sources[10:20] == [[3] * 3, [10, 3], [11], [12], [9] * 3, [14, 9], [15, 13, 13], [16, 15], [17], [18]]
    assert graph.operators[0].key == "MultiHeadAttention_324"
    assert graph.operators[0].weights[0].volume == 4 * 32**2
    assert graph.operators[-1].outputs[0].dims == (1, 8, 64)


@pytest.mark.parametrize("model", ["vgg", "alexnet", "resnet", "inception"])
def test_parameters_are_as_many_as_the_help_tells(model: str) -> None:
    n_parameter = sum(weight.volume for op in build(model).operators for weight in op.weights)
    assert f": {n_parameter / 1e6:.1f} M parameters in place of " in MODELS[model].summary


def test_vgg_sizes() -> None:
    graph = build("vgg")
    sides = [229 + 2, 233, 116, 118, 120, 59, 61, 63, 65, 32, 34, 36, 38, 18, 20, 22, 24, 11]
    assert sizes(graph, OpType.CONV2D, OpType.POOL2D) == sides
    assert sizes(graph, OpType.FLAT, OpType.LINEAR, OpType.SOFTMAX) == [61952, 4096, 4096, 1000, 1000]
    assert len(graph.operators) == 23


def test_alexnet_sizes() -> None:
    graph = build("alexnet")
    assert sizes(graph, OpType.CONV2D, OpType.POOL2D) == [56, 27, 27, 13, 13, 13, 13, 6]
    assert sizes(graph, OpType.FLAT, OpType.LINEAR, OpType.SOFTMAX) == [9216, 4096, 4096, 10, 10]
    assert len(graph.operators) == 13


def test_resnet_sizes() -> None:
    graph = build("resnet")
    assert len(graph.operators) == 90
    assert len(graph.keys()) == 18
    adds = [op for op in graph.operators if op.kind == OpType.ADD]
    assert [op.outputs[0].dims[0] for op in adds] == [58] * 3 + [29] * 4 + [15] * 6 + [8] * 3
    assert [op.outputs[0].dims[2] for op in adds] == [256] * 3 + [512] * 4 + [1024] * 6 + [2048] * 3
    assert {op.attrs["inplace"] for op in adds} == {0}
    assert {op.attrs["inplace"] for op in graph.operators if op.kind == OpType.RELU} == {1}
    assert sizes(graph, OpType.FLAT, OpType.LINEAR) == [8192, 10]


def test_resnet_projects_after_the_three_convolutions() -> None:
    graph = build("resnet")
    assert types(graph)[:13] == ["Conv2D", "Pool2D", *["Conv2D"] * 4, "Add", "ReLU", *["Conv2D"] * 3, "Add", "ReLU"]
    assert [source.op for source in graph.operators[5].inputs] == [1]
    assert [source.op for source in graph.operators[6].inputs] == [5, 4]
    assert [source.op for source in graph.operators[11].inputs] == [7, 10]
    assert types(graph)[-4:] == ["Pool2D", "Flat", "Dense", "Softmax"]


def test_inception_modules() -> None:
    graph = build("inception")
    assert len(graph.operators) == 122
    assert len(graph.keys()) == 31
    joins = [op.outputs[0].dims[:3] for op in graph.operators if op.kind == OpType.CONCAT]
    a = [(36, 36, 256), (36, 36, 288), (36, 36, 288)]
    assert joins == [*a, *[(17, 17, 768)] * 5, (8, 8, 1280), (8, 8, 2048), (8, 8, 2048)]
    assert [op.outputs[0].dims[0] for op in graph.operators[:7]] == [149, 147, 147, 73, 73, 73, 36]
    assert sizes(graph, OpType.FLAT, OpType.LINEAR) == [2048, 10]


def test_inception_last_module_order() -> None:
    graph = build("inception")
    keys = [op.key for op in graph.operators[-15:-4]]
    assert keys == [
        "Conv2D_1_1_320",
        "Conv2D_1_1_384",
        "Conv2D_1_3_384",
        "Conv2D_3_1_384",
        "Conv2D_1_1_448",
        "Conv2D_3_3_384",
        "Conv2D_1_3_384",
        "Conv2D_3_1_384",
        "Pool2D_3_3",
        "Conv2D_1_1_192",
        "Concat_1",
    ]
    first = len(graph.operators) - 15
    sources = [source.op for source in graph.operators[-5].inputs]
    assert sources == [first, first + 2, first + 3, first + 6, first + 7, first + 9]


def test_inception_relu_only_in_stem_and_first_modules() -> None:
    graph = build("inception")
    convs = [op for op in graph.operators if op.kind == OpType.CONV2D]
    assert [op.attrs["activation"] for op in convs] == [13] * (5 + 3 * 7) + [0] * (len(convs) - 26)


def test_ncf() -> None:
    graph = MODELS["ncf"].build({"--ntables": 2, "--edim_per_table": 8, "--arch-mlp-top": "9-32-5"}, 64)
    embeddings = ["Embed_2x16"] * 4 + ["Embed_2x8"] * 4
    assert [op.key for op in graph.operators] == [
        *embeddings,
        *["Concat_1"] * 3,
        "ElementBinary_32",
        "Dense_32_1",
        "Dense_32_32",
        "Dense_32_5",
        "Concat_1",
        "Dense_6_1",
    ]
    sources = [[source.op for source in op.inputs] for op in graph.operators]
    assert sources[8:] == [[4, 5, 6, 7], [0, 1], [2, 3], [9, 10], [11], [8], [13], [12, 14], [15]]
    assert graph.operators[11].name == "gmf_111"
    assert graph.operators[11].attrs["inplace"] == 0
    assert len(graph.operators[12].weights) == 1
    assert len(graph.operators[16].weights) == 2
    assert [op.attrs["activation"] for op in graph.operators[12:15]] == [15, 13, 15]


def test_moe() -> None:
    graph = build("moe", 32)
    experts = ["Dense", "Softmax"] * 5
    head = ["Dense", "Dense", "TopK", "Cache", "Group_by", "Softmax"]
    assert types(graph) == [*head, *experts, "Aggregate", "AggregateSpec"]
    routed = graph.operators[4]
    assert [tensor.dims for tensor in routed.outputs] == [(784, 26)] * 5
    assert [source.output for source in routed.inputs] == [0, 1]
    assert graph.operators[-2].outputs[0].dims == (10, 32)
    assert graph.operators[-1].outputs[0].dims == (10, 64)


@pytest.mark.parametrize(
    ("model", "flag", "value", "words"),
    [
        ("dlrm", "--arch-mlp-bot", "10--4", "dashes"),
        ("dlrm", "--arch-mlp-bot", "-4-2", "dashes"),
        ("dlrm", "--arch-mlp-bot", "", "dashes"),
        ("dlrm", "--arch-mlp-bot", "4-2-", "dashes"),
        ("dlrm", "--arch-mlp-bot", "4,2", "dashes"),
        ("dlrm", "--arch-mlp-bot", "9" * 5000, "dashes"),
        ("dlrm", "--arch-mlp-bot", (), "at least 1"),
        ("dlrm", "--arch-mlp-bot", [4, 2.5], "dashes"),
        ("dlrm", "--arch-mlp-top", "8", "at least 2"),
        ("dlrm", "--arch-mlp-top", "8-0", "at least 1"),
        ("dlrm", "--arch-embedding-size", "0", "at least 1"),
        ("dlrm", "--arch-sparse-feature-size", "0", "at least 1"),
        ("dlrm", "--embedding-bag-size", "-1", "at least 1"),
        ("dlrm", "--arch-interaction-op", "dot", "cat"),
        ("dlrm", "--sigmoid-bot", "1", "-1 (none) to 0"),
        ("dlrm", "--sigmoid-bot", "-2", "-1 (none) to 0"),
        ("dlrm", "--loss-threshold", "low", "a number"),
        ("candle_uno", "--dense-layers", "4192-x", "dashes"),
        ("candle_uno", "--dense-feature-layers", "0-5", "at least 1"),
        ("transformer", "--num-layers", "two", "whole number"),
        ("transformer", "--num-layers", "2.5", "whole number"),
        ("transformer", "--num-layers", 2.5, "whole number"),
        ("transformer", "--num-layers", True, "whole number"),
        ("transformer", "--num-layers", "0", "at least 1"),
        ("transformer", "--hidden-size", "-8", "at least 1"),
        ("transformer", "--num-heads", "7", "divide --hidden-size 512"),
        ("transformer", "--embedding-size", "x", "whole number"),
        ("ncf", "--ntables", "0", "at least 1"),
        ("ncf", "--unum_per_table", "0", "at least 1"),
        ("ncf", "--arch-mlp-top", "8", "at least 2"),
        ("vgg", "--num-layers", "3", "no flag"),
    ],
)
def test_bad_settings_name_the_flag_and_the_rule(model: str, flag: str, value: object, words: str) -> None:
    with pytest.raises(FlexNetError) as error:
        MODELS[model].build({flag: value}, 64)
    assert flag in str(error.value)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("model", MODELS)
def test_bad_batch_size(model: str) -> None:
    with pytest.raises(FlexNetError, match="batch size is 0"):
        MODELS[model].build({}, 0)


def test_settings_check_themselves_without_flags() -> None:
    with pytest.raises(FlexNetError, match="--num-heads is 5"):
        TransformerSettings(num_heads=5)
    assert build_dlrm(DlrmSettings(arch_mlp_bot=(8, 4)), 64) == build("dlrm", arch_mlp_bot=(8, 4))


def test_flag_parse() -> None:
    sizes_flag = Flag("--sizes", (1,), "")
    assert sizes_flag.parse("512-256") == (512, 256)
    assert sizes_flag.parse("512") == sizes_flag.parse(512) == (512,)
    assert sizes_flag.parse([3, 4]) == (3, 4)
    assert Flag("--x", 0.0, "").parse("1e-3") == 0.001
    assert type(Flag("--x", 0.0, "").parse(2)) is float
    assert Flag("--n", 0, "").parse(" 12 ") == 12


def test_import_is_light() -> None:
    heavy = ("numpy", "networkx", "numba", "argparse")
    code = f"import flexnet.model.zoo, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "hint"), [("alexnett", "did you mean alexnet?"), ("palm", "choose one of dlrm, ")])
def test_an_unknown_model_is_a_sentence(name: str, hint: str) -> None:
    with pytest.raises(FlexNetError, match=f"^unknown model '{name}'; ") as caught:
        MODELS[name]
    assert hint in str(caught.value)

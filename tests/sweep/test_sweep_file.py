"""The file of a sweep: what it asks, and what it is told when it is wrong."""

from pathlib import Path

import pytest

from flexnet.errors import FlexNetError
from flexnet.sweep.sweep_file import read_sweep

LEAST = 'models = ["vgg"]\ntopologies = ["topoopt"]\nservers = [4]\n'


def read(tmp_path: Path, text: str):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return read_sweep(path)


def test_all_combinations(tmp_path) -> None:
    asked = read(tmp_path, LEAST.replace('["topoopt"]', '["topoopt", "random"]') + "seeds = [1, 2]\ndegrees = [2, 4]\n")
    found = asked.combinations()
    assert len(found) == 8
    assert found[0] == {
        "model": "vgg",
        "servers": 4,
        "bandwidth": 100.0,
        "degree": 2,
        "topology": "topoopt",
        "budget": 2000,
        "seed": 1,
    }
    assert len({tuple(one.items()) for one in found}) == 8


def test_without_models_nothing_is_searched(tmp_path) -> None:
    asked = read(tmp_path, LEAST.replace('"vgg"', "") + "seeds = [1, 2]\nbudgets = [5, 6]\n")
    assert [(one["model"], one["seed"], one["budget"]) for one in asked.combinations()] == [("", 0, 0)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LEAST + "bandwith = [10]\n", r"unknown key bandwith; did you mean bandwidths\?"),
        (LEAST + "[search]\nbig_gpus = 4\n", r"unknown key big_gpus in \[search\]; did you mean big_gpu\?"),
        (LEAST + "[model.vgg]\nbatch = 4\n", r"unknown key batch in \[model.vgg\]; did you mean batch_size\?"),
        (LEAST + "zzz = 1\n", "unknown key zzz; it may have title, models, topologies"),
        (LEAST + "[model.vgh]\nbatch_size = 4\n", r"\[model.vgh\] is of none of the models; did you mean vgg\?"),
        (LEAST + "[model.vgg]\nbatch_size = 4\nbatch_per_server = 1\n", "exclude each other"),
        (LEAST + 'degrees = ["4"]\n', "degrees.0: input should be a valid integer, not '4'"),
        (LEAST + "degrees = [0]\n", "degrees.0: input should be greater than or equal to 1, not 0"),
        (LEAST + "seeds = []\n", "seeds: list should have at least 1 item"),
        (LEAST + 'same = "price"\n', "same: input should be 'cost', 'bandwidth' or 'degree', not 'price'"),
        (LEAST + 'same = "cost"\npriced = false\n', "leaves nothing to price by"),
        (LEAST + "seeds = [1, 1]\n", "seeds names something twice"),
        (LEAST + '[search]\ngpu_memory = "some"\n', "search.gpu_memory: input should be"),
        ('models = ["vgg"]\nservers = [4]\n', "topologies is missing"),
        ("models = [", "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, text, sentence) -> None:
    with pytest.raises(FlexNetError, match=sentence) as told:
        read(tmp_path, text)
    assert "\n" not in str(told.value)


def test_a_file_that_is_none(tmp_path) -> None:
    with pytest.raises(FlexNetError, match=r"cannot read .*No such file"):
        read_sweep(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff")
    with pytest.raises(FlexNetError, match="not text in UTF-8"):
        read_sweep(tmp_path / "binary.toml")

import pytest

from flexnet.cost.gpus import GPUS, find_gpu
from flexnet.errors import FlexNetError


def test_gpus_are_found_by_name_in_any_case():
    assert find_gpu("H200") is GPUS["h200"]
    assert all(gpu.name == name for name, gpu in GPUS.items())


def test_an_unknown_gpu_is_named_with_those_known():
    with pytest.raises(FlexNetError, match="'b1000'; the GPUs are v100, a100, h100, h200, b200"):
        find_gpu("b1000")


def test_tensor_cores_are_never_slower():
    assert all(gpu.tensor_flops >= gpu.flops for gpu in GPUS.values())

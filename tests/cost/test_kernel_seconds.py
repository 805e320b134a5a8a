"""Seconds of kernels that PyTorch starts one after the other."""

import pytest

from flexnet.cost.efficiency import EFFICIENCY
from flexnet.cost.gpus import GPUS
from flexnet.cost.kernel_seconds import run_seconds
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.model.operators.kernel import Kernel
from flexnet.model.precision import PRECISIONS

H100, H200 = GPUS["h100"], GPUS["h200"]
STREAMED = EFFICIENCY.memory * H100.memory_bandwidth


def run(*kernels, gpu=H100, overlapped=True):
    return run_seconds(kernels, 1e15, gpu, EFFICIENCY, overlapped=overlapped)


def seconds(make, *, batch=64, degrees=None, gpu=H100, dtype="bf16"):
    """Forward and backward seconds of the last operator of a graph, of a part of it if so cut."""
    b = GraphBuilder("m", batch)
    make(b)
    op = b.build().operators[-1]
    part = op if degrees is None else part_of(op, degrees, 0)
    return part_seconds(part, 1, gpu, precision=PRECISIONS[dtype])


def test_the_longest_of_what_a_kernel_does_counts():
    start = EFFICIENCY.launch + EFFICIENCY.following
    assert run() == 0
    assert run(Kernel()) == start
    assert run(Kernel(1e9)) == pytest.approx(start + 1e9 / STREAMED)
    one_by_one = 1e9 / EFFICIENCY.indexed / (132 * 1.98e9)
    assert run(Kernel(1e9, indexed=1e9)) == pytest.approx(start + one_by_one)
    assert one_by_one > 1e9 / STREAMED
    assert run(Kernel(1e9, indexed=1e9), gpu=H200) == run(Kernel(1e9, indexed=1e9))  # no faster with faster memory
    assert run(Kernel(1e3, rows=1e6)) == pytest.approx(start + 1e6 / EFFICIENCY.looked_up / (132 * 1.98e9))
    assert run(Kernel(1e9, blocks=33)) == pytest.approx(start + 4e9 / STREAMED)
    assert run(Kernel(1e9, blocks=1e4)) == run(Kernel(1e9))


def test_products_overlap_with_what_they_read_on_tensor_cores_alone():
    product = Kernel(1e9, flops=1e12)
    assert run(product) == pytest.approx(2 * EFFICIENCY.launch + 1e-3)
    assert run(product, overlapped=False) == pytest.approx(2 * EFFICIENCY.launch + 1e-3 + 1e9 / STREAMED)


def test_an_activation_is_a_pass_of_its_own():
    plain, active = (
        seconds(lambda b, act=act: b.dense(b.input(1024, 1024), 4096, activation=act)) for act in (None, OpType.GELU)
    )
    y = 2 * 64 * 1024 * 4096
    assert active[0] - plain[0] == pytest.approx(EFFICIENCY.following + 2 * y / STREAMED)
    assert active[1] - plain[1] == pytest.approx(EFFICIENCY.following + 3 * y / STREAMED)


def test_causal_attention_leaves_out_what_is_hidden():
    """Half of all pairs, and of the last positions of the query, which take longest, only those after them."""

    def attend(b, causal):
        x = b.input(4096, 512)
        b.add(OpType.SCALED_DOT_PRODUCT, x, x, x, heads=8, causal=causal)

    rate = EFFICIENCY.tensor * H100.bf16_flops
    for degrees, share in (((1, 1, 1), 0.5), ((1, 2, 1), 0.75), ((1, 4, 1), 0.875)):
        every, seen = (seconds(lambda b, c=c: attend(b, c), degrees=degrees) for c in (False, True))
        pairs = 64 * 8 * 4096 * 4096 / degrees[1]
        assert every[0] - seen[0] == pytest.approx((1 - share) * 4 * 64 * pairs / rate)
        assert every[1] - seen[1] == pytest.approx((1 - share) * 10 * 64 * pairs / rate)


def test_causal_attention_over_fewer_keys_than_positions_takes_time():
    """The first positions see some of the keys, the others all."""

    def attend(b, causal):
        query, key = b.input(4096, 512), b.input(1024, 512)
        b.add(OpType.SCALED_DOT_PRODUCT, query, key, key, heads=8, causal=causal)

    every, seen = (seconds(lambda b, c=c: attend(b, c)) for c in (False, True))
    rate = EFFICIENCY.tensor * H100.bf16_flops
    assert every[0] - seen[0] == pytest.approx(4 * 64 * (64 * 8 * 1024 * 1024 / 2) / rate)


def test_a_bias_is_looked_up_and_its_gradient_added_up_by_buckets():
    def attend(b, **more):
        x = b.input(512, 768)
        b.add(OpType.SCALED_DOT_PRODUCT, x, x, x, heads=12, **more)

    few, many = ([seconds(lambda b, m=m: attend(b, **m), batch=n) for m in ({}, {"buckets": 32})] for n in (1, 256))
    assert 300e-6 < few[1][1] - few[0][1] < 450e-6  # it hangs on no sample
    assert 3 < many[1][1] / many[0][1] < 4.5  # 3.6 on an H100, of 128 samples


def test_gradients_of_a_norm_leave_a_gpu_idle_unless_there_are_many_rows():
    times = [seconds(lambda b: b.add(OpType.LAYER_NORM, b.input(512, 768)), batch=n)[1] for n in (64, 128, 256)]
    assert 1.8 < times[1] / times[0] < 2.0
    assert times[2] < 1.1 * times[1]


@pytest.mark.parametrize(
    ("add", "kernels"),
    [
        (lambda b: b.concat([b.input(4) for _ in range(100)], axis=1), (1, 100)),
        (lambda b: b.concat([b.input(4) for _ in range(200)], axis=1), (2, 200)),
        (lambda b: b.add(OpType.SPLIT, b.input(12), sizes=[4, 4, 4], axis=1), (3, 1)),
        (lambda b: b.add(OpType.ROPE, b.input(2, 8), b.input(2, 8), head=4), (10, 10)),
        (lambda b: b.add(OpType.GATED, b.input(8), b.input(8)), (2, 3)),
        (lambda b: b.add(OpType.GATED, b.input(16)), (2, 4)),
        (lambda b: b.add(OpType.ADD, b.input(8), b.input(8)), (1, 2)),
    ],
)
def test_small_ones_take_their_starts(add, kernels):
    for n_kernel, took in zip(kernels, seconds(add, batch=2), strict=True):
        assert took == pytest.approx(EFFICIENCY.launch + n_kernel * EFFICIENCY.following, abs=1e-8)


def test_copies_of_what_is_strided_take_as_long_on_an_h200():
    def halves(b):
        b.add(OpType.SPLIT, b.input(1024, 8192), sizes=[4096, 4096], axis=2)

    (forward, back), (faster, joined) = seconds(halves, gpu=H100), seconds(halves, gpu=H200)
    assert faster == pytest.approx(forward)
    assert joined < 0.8 * back


def test_convolutions_in_single_precision_by_their_windows():
    """Squares of three at every place of an image reach a product's rate and more, others less; thin ones a third."""

    def convolve(channels, kernel, size):
        return lambda b: b.conv2d(b.input(channels, size, size), 256, kernel, padding=(kernel[0] // 2, kernel[1] // 2))

    def share(channels, kernel, size=32):
        (forward, _), pairs = seconds(convolve(channels, kernel, size), dtype="fp32"), 64 * size * size * 256
        moved = 4 * 64 * size * size * (channels + 2 * 256) / STREAMED
        work = 2 * pairs * channels * kernel[0] * kernel[1]
        return work / (forward - moved) / (EFFICIENCY.compute * H100.sustained_flops)

    assert 1.0 < share(256, (3, 3)) < 1.2
    assert 0.7 < share(256, (1, 7)) < 0.85
    assert 0.7 < share(256, (3, 3), size=7) < 0.85
    assert 0.25 < share(3, (3, 3), size=128) < 0.4
    assert seconds(convolve(256, (5, 5), 32))[0] > 2 * 64 * 32 * 32 * 256 * 256 * 25 / H100.bf16_flops

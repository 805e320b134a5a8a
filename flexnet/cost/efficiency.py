"""How far below their data sheets GPUs run."""

from dataclasses import dataclass

__all__ = ["EFFICIENCY", "Efficiency"]


@dataclass(frozen=True, slots=True)
class Efficiency:
    """How far below its data sheet a GPU runs; one set for all operators and all GPUs.

    The values are fitted to four published A100 profiles (AlexNet, ResNet-50, CANDLE and the smaller DLRM, by
    ``benchmarks/roofline_fit.py``), less the times these took while the clocks were still rising; ``product`` and
    ``ragged``, which none of those shows, are medians of GPT-2's products on an H100, ``biased`` of T5's attention
    there, and ``following``, ``indexed`` and ``looked_up`` of Llama's rotary positions, of copies and of embeddings
    (``measurements/h100-bf16``).

    Parameters
    ----------
    compute : float
        Share of peak operations a large matrix product reaches.
    narrow : float
        Share of that for convolutions that read fewer than 8 channels, as of images: no kernel has tiles so thin.
    tensor : float
        Share of peak on tensor cores, for convolutions and attention.
    product : float
        Share of peak on tensor cores, for products of matrices in an arithmetic that they take. Such kernels read and
        write while they compute: the longer of the two counts, not their sum.
    ragged : float
        Share of that for each byte of 16 that rows of linear layers, of input or output, are aligned to, if not to all:
        an odd vocabulary of 50,257 has 2 in bf16, one of 30,522 has 4.
    biased : float
        Share of ``tensor`` for attention with a learned bias: no kernel of those that keep scores in registers reads a
        bias as fast.
    memory : float
        Share of peak bandwidth a streaming kernel reaches.
    irregular : float
        The same for looked-up rows and pooling windows, which use caches and DRAM pages badly.
    cached : float
        Times faster a kernel streams that moves less than 80 % of the L2 cache: it finds its data there.
    launch : float
        Seconds each kernel adds: start, ramp-up and tail.
    following : float
        Seconds each kernel of a pass adds that PyTorch starts and that is no product; the pass itself, and each
        product, add ``launch``.
    row : float
        Seconds softmax adds for each row: one block of threads works on one row, however short.
    indexed : float
        Elements that a multiprocessor handles in a cycle where it works out for each where it lies
        (`flexnet.model.operators.kernel`).
    looked_up : float
        Rows that it looks up in a cycle, however short.
    layout : float
        Times a tensor-core convolution moves its data: most work on NHWC copies of NCHW tensors.
    workspace : float
        Bytes of scratch memory those copies must fit in (cuDNN's 1 GiB, as the original sets it). A convolution whose
        input and output are larger runs without tensor cores: back always, forward only if a width or height is odd,
        for of even ones there are kernels that need no copies.
    """

    compute: float = 0.96
    narrow: float = 0.57
    tensor: float = 0.645
    product: float = 0.8
    ragged: float = 0.075
    biased: float = 0.146
    memory: float = 0.88
    irregular: float = 0.57
    cached: float = 2.1
    launch: float = 4.3e-6
    row: float = 3.6e-9
    following: float = 1.1e-6
    indexed: float = 1.6
    looked_up: float = 0.0063
    layout: float = 1.8
    workspace: float = 2.0**30


EFFICIENCY = Efficiency()

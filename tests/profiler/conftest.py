"""What these tests need: real PyTorch, on one thread so that a busy machine does not slow them down."""

import pytest


@pytest.fixture(autouse=True)
def _one_thread():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)

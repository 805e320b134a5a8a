"""Where PyTorch is absent, the examples in the modules that need it are passed over; tests say why they skip."""

from importlib.util import find_spec

collect_ignore_glob: list[str] = []
if find_spec("torch") is None:
    collect_ignore_glob += ["flexnet/profiler/*.py"]

"""Every example prints what the file beside it holds."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import ROOT, environment

from flexnet.model.zoo import MODELS

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.compiled
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example(script: Path, tmp_path: Path) -> None:
    if script.stem.startswith("import_"):
        pytest.importorskip("transformers")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == script.with_suffix(".out").read_text()
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_every_model_of_the_original_has_an_example() -> None:
    originals = [name for name, spec in MODELS.items() if spec.program]
    imported = ["import_experts", "import_llama", "import_resnet"]
    others = ["change_plan", "llama", "own_model", "own_topology", *imported]
    assert [script.stem for script in EXAMPLES] == sorted([*originals, *others])

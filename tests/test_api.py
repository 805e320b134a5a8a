"""The names programs import from flexnet, and the page that tells them."""

import re
import runpy
import subprocess
import sys

from command_lines import ROOT

import flexnet


def test_public_names_are_listed_where_they_are_found() -> None:
    assert sorted(name for names in flexnet._HOMES.values() for name in names) == sorted(flexnet.__all__)
    assert all(getattr(flexnet, name) is not None for name in flexnet.__all__)
    assert set(flexnet.__all__) <= set(dir(flexnet))


def test_importing_flexnet_imports_nothing_else() -> None:
    code = "import flexnet, sys; print(sorted(name for name in sys.modules if name.startswith('flexnet.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_tells_every_name_and_no_other() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    assert sorted(re.findall(r"^### `(\w+)`$", text, re.MULTILINE)) == sorted(flexnet.__all__)
    assert text == runpy.run_path(str(ROOT / "docs" / "make_api.py"))["page"](), "run python docs/make_api.py"


def test_every_public_name_is_documented() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    entries = re.split(r"^### `", text, flags=re.MULTILINE)[1:]
    told = {
        entry.split("`")[0]: re.sub(r"^\*flexnet.*\*$|^```python$.*?^```$", "", entry, flags=re.M | re.S)
        for entry in entries
    }
    assert [name for name, entry in told.items() if len(entry.split()) < 5] == []

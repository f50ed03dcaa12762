# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from blockful_py.crypto import library
from blockful_py.errors import ToolchainError


def test_a_library_that_lacks_a_function_is_named() -> None:
    partial = SimpleNamespace(ffi=None, lib=SimpleNamespace(**dict.fromkeys(library.NEEDED[1:])))
    with pytest.raises(ToolchainError, match=f"lacks {library.NEEDED[0]}.*pip install 'coincurve>=21,<22'"):
        library.checked(partial)


def test_the_list_is_of_what_is_called() -> None:
    from pathlib import Path

    sources = [path.read_text(encoding="utf-8") for path in Path(library.__file__).parent.rglob("*.py")]
    called = {name for source in sources for name in re.findall(r"lib\.(secp256k1_\w+)", source)}
    assert called == set(library.NEEDED)


def test_a_coincurve_without_the_binding_fails_at_import_with_advice() -> None:
    program = (
        "import sys; sys.modules['coincurve._libsecp256k1'] = None\n"
        "from blockful_py.errors import ToolchainError\n"
        "try:\n    import blockful_py.crypto.curve\n"
        "except ToolchainError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "coincurve's binding to libsecp256k1 is missing" in done.stdout
    assert "pip install 'coincurve>=21,<22'" in done.stdout

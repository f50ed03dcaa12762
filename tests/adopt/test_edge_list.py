# SPDX-License-Identifier: Apache-2.0
"""Lists of edges, sound and not."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.adopt.edge_list import read_list
from blockful_py.errors import FormatError


def _list(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_reads_models_with_their_edges_and_data_sets(tmp_path: Path) -> None:
    path = _list(
        tmp_path / "edges.csv",
        "model,parent,kind,weight,datasets",
        "base,,,,wiki; books",
        "mix,base,merge,0.25,",
        "mix,other,merge,0.75,letters",
        "small,mix,quantise,,",
    )
    found = read_list(path)
    assert not found.refused
    models = {model.source: model for model in found.models}
    assert models["base"].datasets == ("books", "wiki")
    assert [(each.parent, each.kind, each.weight) for each in models["mix"].edges] == [
        ("base", "merge", 0.25),
        ("other", "merge", 0.75),
    ]
    assert models["mix"].datasets == ("letters",)


@pytest.mark.parametrize(
    "row", ["m,base,cousin,,", "m,base,merge,heavy,", "m,base,merge,inf,", f"m,{'b' * 300},merge,,"]
)
def test_a_bad_row_refuses_its_model_alone(tmp_path: Path, row: str) -> None:
    found = read_list(_list(tmp_path / "e.csv", "model,parent,kind,weight,datasets", row, "m,,,,", "n,,,,"))
    assert [model.source for model in found.models] == ["n"]
    assert found.refused["m"].startswith("line 2: ")


@pytest.mark.parametrize(
    "text",
    ["", "parent,kind\na,b\n", "model,colour\na,b\n", "model\na,b\n", "model\n" + "x" * (1 << 18)],
    ids=["empty", "no-model", "unknown-column", "more-fields", "long-field"],
)
def test_refuses_other_files(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError):
        read_list(_list(tmp_path / "e.csv", text))


def test_refuses_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"model\n\xff\xfe\n")
    with pytest.raises(FormatError, match="UTF-8"):
        read_list(tmp_path / "e.csv")

# SPDX-License-Identifier: Apache-2.0
"""A data key in a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import SettingsError
from blockful_py.keys.data_key import read_data_key, write_data_key


def test_a_data_key_rests_in_a_file_of_this_user_only(tmp_path: Path) -> None:
    path = tmp_path / "x.key"
    write_data_key(path, bytes(range(32)))
    assert read_data_key(path) == bytes(range(32))
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SettingsError, match="cannot be written"):
        write_data_key(path, bytes(32))
    path.write_text("12")
    for other in (path, tmp_path / "nothing"):
        with pytest.raises(SettingsError, match=r"is not a data key|cannot be read"):
            read_data_key(other)

# SPDX-License-Identifier: Apache-2.0
"""Content-addressed storage: CIDs, UnixFS files and a directory of verified blocks."""

from blockful_py.storage.cid import cid_string, parse_cid, uri_of
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import file_uri

__all__ = ["ContentStore", "cid_string", "file_uri", "parse_cid", "uri_of"]

# SPDX-License-Identifier: Apache-2.0
"""DAGs that anybody may have made."""

from __future__ import annotations

from hypothesis import strategies as st

from blockful_py.storage.cid import uri_of
from blockful_py.storage.dag_pb import Link, encode
from blockful_py.types import Codec, Uri

digests = st.binary(min_size=32, max_size=32)
uris = st.builds(Uri, digests, st.sampled_from(Codec))


@st.composite
def dags(draw: st.DrawFn) -> tuple[Uri, dict[Uri, bytes]]:
    """Blocks with right CIDs, whose nodes say anything about their children."""
    leaf = draw(st.binary(max_size=3))
    known = [uri_of(leaf, Codec.RAW)]
    blocks = {known[0]: leaf}
    for _ in range(draw(st.integers(1, 12))):
        children = draw(st.lists(st.sampled_from(known) | uris, max_size=4))
        sizes = st.integers(0, 12) | st.integers(0, 2**64 - 1)
        block = encode(tuple(Link(child, draw(sizes) % 2**63, 0) for child in children))
        known.append(uri_of(block, Codec.DAG_PB))
        blocks[known[-1]] = block
    return known[-1], blocks


def file_of(leaves: list[bytes], width: int) -> tuple[Uri, dict[Uri, bytes]]:
    """A whole file of these leaves, none of them empty, below nodes of `width` links at most."""
    blocks = {uri_of(leaf, Codec.RAW): leaf for leaf in leaves}
    links = [Link(uri_of(leaf, Codec.RAW), len(leaf), len(leaf)) for leaf in leaves]
    while len(links) > 1:
        links, below = [], links
        for start in range(0, len(below), width):
            children = tuple(below[start : start + width])
            block = encode(children)
            links.append(Link(uri_of(block, Codec.DAG_PB), sum(each.size for each in children), 0))
            blocks[links[-1].uri] = block
    return links[0].uri, blocks

# SPDX-License-Identifier: Apache-2.0
"""A proof verifies against the right chain only, and a change of any field is detected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto.envelope import unseal
from blockful_py.errors import FormatError, RunError, UnknownModelError, VerificationError
from blockful_py.pipeline.proving import prove, sources_of
from blockful_py.record.fields import MAX_BYTES
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.proof import Proof, parse_proof, verify_proof
from tests.limits import ANY_SIZE
from tests.record.conftest import Scene
from tests.record.mutations import leaves, one_change_each, replaced, spelt
from tests.record.proofs.forging import block_hash_of, forge

CHECKS = {
    "chain_id": {"opening"},
    "contract": {"opening"},
    "first": {"shape", "merkle", "header"},
    "headers": {"shape", "merkle", "header", "link"},
    "keys": {"shape", "opening", "header"},
    "models": {"shape", "content", "opening", "merkle"},
    "others": {"shape", "content", "opening", "merkle", "signature"},
}
"""Which checks may find an altered field of each part of the record; the first that fails is named."""


def _refused(data: bytes, anchors: Anchors) -> FormatError | VerificationError:
    with pytest.raises((FormatError, VerificationError)) as caught:
        verify_proof(parse_proof(data), anchors)
    return caught.value


def test_a_proof_convinces_those_who_know_the_chain(scene: Scene, anchors: Anchors) -> None:
    outcome = verify_proof(parse_proof(scene.proof.to_bytes()), anchors)
    (model,) = outcome.models
    assert (model.node.name, model.transaction.version) == ("x", 1)
    assert [each.record.version for each in model.history] == [0, 0]
    assert outcome.archived == outcome.covered == len(scene.proof.archive.records)
    assert outcome.trusted == scene.federation.contracts.live.height()
    assert len(scene.proof.to_bytes()) < 100_000


def test_a_model_that_was_never_replaced_needs_nothing_beside_itself(scene: Scene) -> None:
    proof = prove(scene.federation, ["z"], history=False)
    assert proof.record.others == ()
    known = replace(scene.anchors(), archive_heads=frozenset())
    assert verify_proof(proof, known).models[0].transaction.version == 0


def test_one_document_proves_several_models(scene: Scene) -> None:
    proof = prove(scene.federation, ["y", "a", "x", "y"])
    outcome = verify_proof(parse_proof(proof.to_bytes()), scene.anchors())
    assert [each.node.name for each in outcome.models] == ["a", "x", "y"]


def test_headers_below_a_checkpoint_can_be_left_out(scene: Scene) -> None:
    live = scene.federation.contracts.live
    proof = prove(scene.federation, ["z"], checkpoint=live.block_hash(1))
    assert proof.record.first == 2
    with pytest.raises(VerificationError, match="begin after block 1"):
        verify_proof(proof, scene.anchors())
    both = scene.anchors() | Anchors(frozenset({live.block_hash(1)}))
    assert verify_proof(proof, both).trusted == live.height()
    with pytest.raises(RunError, match="headers from 2 on are needed"):
        prove(scene.federation, ["z"], checkpoint=live.block_hash(2))
    with pytest.raises(RunError, match="no block of this chain"):
        prove(scene.federation, ["z"], checkpoint=bytes(32))


def test_the_chains_say_what_is_trusted(scene: Scene) -> None:
    sources = sources_of(scene.federation.contracts)
    outcome = verify_proof(scene.proof, Anchors(), sources)
    assert outcome.covered == outcome.archived
    record = scene.proof.record.model_copy(update={"chain_id": 1338})
    with pytest.raises(VerificationError) as caught:
        verify_proof(scene.proof.model_copy(update={"record": record}), Anchors(), sources)
    assert caught.value.check == "opening"


def test_a_proof_of_a_replaced_version_is_found_out_on_the_chain_alone(scene: Scene) -> None:
    old = prove(scene.federation, ["t"])
    with scene.put_back():
        scene.federation.unlearn(starts=["t"])
        assert verify_proof(old, scene.anchors() | _anchors_of(old)).models[0].transaction.version == 1
        with pytest.raises(VerificationError, match="the chain holds version 2") as caught:
            verify_proof(old, Anchors(), sources_of(scene.federation.contracts))
        assert caught.value.check == "current"


def _anchors_of(proof: Proof) -> Anchors:
    assert proof.archive is not None
    return Anchors(archive_heads=frozenset({bytes.fromhex(proof.archive.head[2:])}))


def test_weights_are_those_of_the_model_or_not(scene: Scene, anchors: Anchors, tmp_path: Path) -> None:
    path, federation = tmp_path / "x.sealed", scene.federation
    path.write_bytes(federation.stores.live.read(federation.catalogue()["x"].node.weights, ANY_SIZE))
    verify_proof(scene.proof, anchors, weights=path)
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    for other in (path, tmp_path / "nothing"):
        with pytest.raises(VerificationError) as caught:
            verify_proof(scene.proof, anchors, weights=other)
        assert caught.value.check == "content"


def test_weights_in_the_clear_are_those_of_the_model_to_who_has_their_key(
    scene: Scene, anchors: Anchors, tmp_path: Path
) -> None:
    federation, path = scene.federation, tmp_path / "x"
    uri = federation.catalogue()["x"].node.weights
    key = federation.context.keys.keyring.find((uri,))[uri]
    sealed = federation.stores.live.read(uri, ANY_SIZE)
    plain = b"".join(unseal(key, (sealed,)))
    for content in (sealed, plain):
        path.write_bytes(content)
        verify_proof(scene.proof, anchors, weights=path, key=key)
        with pytest.raises(VerificationError) as caught:
            verify_proof(scene.proof, anchors, weights=path, key=bytes(32))
        assert caught.value.check == "content"
    for content, found in ((plain, None), (plain[:-1] + b"\x01", key), (sealed[:-1], key)):
        path.write_bytes(content)
        with pytest.raises(VerificationError) as caught:
            verify_proof(scene.proof, anchors, weights=path, key=found)
        assert caught.value.check == "content"


@pytest.mark.parametrize("missing", ["block_hashes", "key_ids"])
def test_a_proof_rests_on_what_is_trusted(scene: Scene, anchors: Anchors, missing: str) -> None:
    for other in (frozenset(), frozenset({bytes(32)})):
        with pytest.raises(VerificationError) as caught:
            verify_proof(scene.proof, replace(anchors, **{missing: other}))
        assert caught.value.check == "anchor"


def test_another_head_of_the_archive_is_refused_and_none_is_said(scene: Scene, anchors: Anchors) -> None:
    with pytest.raises(VerificationError) as caught:
        verify_proof(scene.proof, replace(anchors, archive_heads=frozenset({bytes(32)})))
    assert caught.value.check == "anchor"
    unsaid = replace(anchors, archive_heads=frozenset())
    assert verify_proof(scene.proof, unsaid).covered is None
    without = scene.proof.model_copy(update={"archive": None})
    assert verify_proof(without, unsaid).archived is None
    with pytest.raises(VerificationError, match="the document has no records"):
        verify_proof(without, anchors)


def test_a_block_below_the_model_is_no_anchor(scene: Scene, anchors: Anchors) -> None:
    genesis = scene.federation.contracts.live.block_hash(0)
    with pytest.raises(VerificationError) as caught:
        verify_proof(scene.proof, replace(anchors, block_hashes=frozenset({genesis})))
    assert caught.value.check == "anchor"


def test_an_unknown_model_has_no_proof(scene: Scene) -> None:
    with pytest.raises(UnknownModelError):
        prove(scene.federation, ["nobody"])


def test_anybody_can_make_a_chain_that_fits_together_and_nobody_has_to_believe_it(scene: Scene) -> None:
    """With the committee's key and without any secret: the block hash gives it away."""
    key = scene.proof.record.keys[0].point()
    forged = forge(scene, key)
    assert verify_proof(forged, Anchors(frozenset({block_hash_of(forged)}), scene.anchors().key_ids)).models
    with pytest.raises(VerificationError) as caught:
        verify_proof(forged, scene.anchors())
    assert caught.value.check == "anchor"


def test_one_change_of_any_field_is_found_out_and_named(scene: Scene, anchors: Anchors) -> None:
    data = scene.proof.to_bytes()
    verify_proof(parse_proof(data), anchors)
    changes = 0
    for path, changed in one_change_each(data):
        error = _refused(changed, anchors)
        changes += 1
        if isinstance(error, VerificationError):
            possible = {"history"} if path[0] == "archive" else CHECKS[str(path[1])]
            assert error.check in possible, (path, str(error))
        else:
            field = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
            assert field in str(error) or "spelt" in str(error), (path, str(error))
    assert changes > 3 * len(list(leaves(json.loads(data))))


FIELDS = {
    ("record", "models", 0, "transaction", "cid"): "content",
    ("record", "models", 0, "transaction", "s"): "opening",
    ("record", "models", 0, "transaction", "version"): "opening",
    ("record", "models", 0, "transaction", "owner"): "opening",
    ("record", "others", 0, "path", 0): "merkle",
    ("record", "headers", 0, "s"): "header",
    ("record", "headers", 0, "tx_count"): "header",
    ("record", "contract"): "opening",
    ("record", "keys", 0, "x"): "opening",
    ("archive", "records", 3, "timestamp"): "history",
    ("archive", "contract"): "history",
}


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: ".".join(map(str, path)))
def test_the_check_that_fails_is_named(scene: Scene, anchors: Anchors, path: tuple[str | int, ...]) -> None:
    document = json.loads(scene.proof.to_bytes())
    value = dict(leaves(document))[path]
    other = value + 1 if isinstance(value, int) else value[:-1] + ("a" if value[-1] != "a" else "b")
    error = _refused(spelt(replaced(document, path, other)), anchors)
    assert isinstance(error, VerificationError)
    assert error.check == FIELDS[path]


def test_every_bit_of_the_node_counts(scene: Scene, anchors: Anchors) -> None:
    document = json.loads(scene.proof.to_bytes())
    path = ("record", "models", 0, "node")
    text = dict(leaves(document))[path]
    for place in range(0, len(text), 7):
        changed = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        error = _refused(spelt(replaced(document, path, changed)), anchors)
        assert isinstance(error, VerificationError)
        assert error.check == "content"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"null", b"[" * 100_000, b'{"format":"blockful-proof/1"}', b"\xff" * 100, b"9" * 10_000],
    ids=["nothing", "an opening bracket", "null", "deep", "half", "no text", "a long number"],
)
def test_what_is_no_proof_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="this is no proof"):
        parse_proof(data)


def test_a_document_beyond_the_bound_is_not_parsed() -> None:
    with pytest.raises(FormatError, match="has at most"):
        parse_proof(b" " * (MAX_BYTES + 1))


def test_a_document_has_one_spelling(scene: Scene) -> None:
    data = scene.proof.to_bytes()
    for other in (data[:-1], data + b"\n", data.replace(b'"s":', b'"s": ', 1), data.replace(b"\n", b"\r\n")):
        with pytest.raises(FormatError, match="not spelt"):
            parse_proof(other)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150)
@given(place=st.integers(0, 10_000), depth=st.integers(0, 10), value=json_values)
def test_fuzzed_documents_end_in_one_clear_error(
    scene: Scene, anchors: Anchors, place: int, depth: int, value: object
) -> None:
    """Any value in the place of any other: refused, or the same document."""
    document = json.loads(scene.proof.to_bytes())
    paths = [path for path, _ in leaves(document)]
    path = paths[place % len(paths)]
    changed = replaced(document, path[: 1 + depth % len(path)], value)
    if changed != document:
        _refused(spelt(changed), anchors)


@settings(max_examples=100)
@given(data=st.binary(max_size=300))
def test_fuzzed_bytes_end_in_one_clear_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_proof(data)


HOSTILE = {
    "a time beyond 64 bits": {"created": 1 << 70},
    "an accuracy that is no number": {"accuracy": float("nan")},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_nodes_that_nobody_can_have_signed_end_in_one_clear_error(scene: Scene, what: str) -> None:
    """On a chain that fits together in everything else."""
    forged = forge(scene, scene.proof.record.keys[0].point(), **HOSTILE[what])
    anchors = Anchors(frozenset({block_hash_of(forged)}), scene.anchors().key_ids)
    with pytest.raises(VerificationError) as caught:
        verify_proof(forged, anchors)
    assert caught.value.check in ("content", "signature")

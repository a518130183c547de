"""Random streams are children of one stored sequence, named by purpose."""

from __future__ import annotations

import json

import numpy as np
import pytest

from qtypes import seeds

ROOTS = [
    np.random.SeedSequence(2**255 + 12345),
    np.random.SeedSequence(7, spawn_key=(1, 2**31, 3)),
    np.random.SeedSequence(0, spawn_key=(9,), pool_size=8),
]


@pytest.mark.parametrize("root", ROOTS, ids=range(len(ROOTS)))
def test_a_sequence_is_stored_whole_so_that_a_stream_comes_back_from_json(root: np.random.SeedSequence) -> None:
    """Entropy alone, or an entropy cut to 64 bits, would give another stream."""
    back = seeds.from_json(json.loads(json.dumps(seeds.to_json(root))))
    assert (back.entropy, back.spawn_key, back.pool_size) == (root.entropy, root.spawn_key, root.pool_size)
    for purpose in ("device", "job/1"):
        assert seeds.generator(back, purpose).bytes(32) == seeds.generator(root, purpose).bytes(32)
    bare = np.random.SeedSequence(int(str(root.entropy)) % 2**64)
    assert seeds.generator(bare, "device").bytes(32) != seeds.generator(root, "device").bytes(32)


def test_a_stream_depends_on_its_purpose_alone_and_not_on_what_was_drawn_before() -> None:
    purposes = ["device", "notebook", "challenge", *(f"job/{n}" for n in range(50)), *(f"query/{n}" for n in range(50)), "grade/score"]
    forward = {p: seeds.generator(ROOTS[0], p).bytes(16) for p in purposes}
    backward = {p: seeds.generator(ROOTS[0], p).bytes(16) for p in reversed(purposes)}
    assert forward == backward
    assert len(set(forward.values())) == len(purposes)


def test_children_of_children_keep_their_path() -> None:
    one = seeds.child(seeds.child(ROOTS[1], "a"), "b")
    other = seeds.child(seeds.child(ROOTS[1], "b"), "a")
    assert one.spawn_key != other.spawn_key
    assert one.spawn_key[: len(ROOTS[1].spawn_key)] == ROOTS[1].spawn_key


def test_a_sampler_seed_has_63_bits() -> None:
    drawn = [seeds.stim_seed(np.random.default_rng(s)) for s in range(200)]
    assert all(0 <= d < 2**63 for d in drawn)
    assert max(drawn) > 2**62
    assert len(set(drawn)) == 200

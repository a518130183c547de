"""Public conventions that the laboratory and its users share to the letter: bit packing, and the rule CANON from a detector error
model to the decoder that the laboratory runs. Nothing here knows anything of a device."""

from lab.conventions.bits import pack_bits, packed_width, unpack_bits
from lab.conventions.matching import CANON, Limits, MatchingGraph, ModelRefused, decode, read_graph

__all__ = [
    "CANON", "Limits", "MatchingGraph", "ModelRefused", "decode", "pack_bits", "packed_width", "read_graph", "unpack_bits",
]  # fmt: skip

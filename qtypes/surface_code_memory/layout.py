"""The grid of a device: an odd square of data qubits with the measure qubits of its rotated patch. Smaller patches use a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from qtypes.kit.rotated_code import Basis, Site, data_sites, plaquettes
from qtypes.kit.rotated_memory import memory, neighbour_pairs
from qtypes.kit.stim_circuits import Program

Pair = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """A chip of `size` x `size` data sites, rows and columns 0 to `size - 1`. Qubits are numbered by site, row by row."""

    size: int

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return tuple(sorted((*data_sites(0, 0, self.size, self.size), *plaquettes(0, 0, self.size, self.size))))

    @cached_property
    def index(self) -> dict[Site, int]:
        return {s: i for i, s in enumerate(self.sites)}

    @cached_property
    def data(self) -> tuple[int, ...]:
        return tuple(self.index[s] for s in data_sites(0, 0, self.size, self.size))

    @cached_property
    def measure(self) -> tuple[int, ...]:
        return tuple(self.index[a] for a in plaquettes(0, 0, self.size, self.size))

    @cached_property
    def couplers(self) -> tuple[Pair, ...]:
        """Pairs of a measure and a data qubit, lower index first."""
        found = {
            (min(self.index[a], self.index[d]), max(self.index[a], self.index[d]))
            for a, p in plaquettes(0, 0, self.size, self.size).items() for d in p.data
        }  # fmt: skip
        return tuple(sorted(found))

    @cached_property
    def data_pairs(self) -> tuple[Pair, ...]:
        """Nearest neighbours among the data: those along rows come first."""
        return tuple((self.index[a], self.index[b]) for a, b in neighbour_pairs(0, 0, self.size, self.size))

    def along_a_row(self, pair: Pair) -> bool:
        return self.sites[pair[0]][0] == self.sites[pair[1]][0]

    @property
    def n_qubits(self) -> int:
        return len(self.sites)


@lru_cache(maxsize=8)
def layout(size: int) -> Layout:
    return Layout(size)


@lru_cache(maxsize=128)
def program(size: int, row: int, col: int, rows: int, cols: int, basis: Basis, rounds: int) -> Program:
    """Public noiseless memory circuit of a patch on a chip of `size`; see `qtypes.kit.rotated_memory.memory`."""
    return memory(layout(size).index, row, col, rows, cols, basis, rounds)

"""What source text tells without running it: imports, clocks, random state, thresholds."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

LABORATORY = frozenset({"evidence", "graders", "qharbor", "qtypes", "results", "sidecar", "tasks"})
WORKBENCH = frozenset({"httpx", "lab", "matplotlib", "mcp", "numpy", "pymatching", "pyzx", "qcodes", "qiskit", "rich", "scipy", "stim"})
"""What the agent's image holds (extra `workbench` of `quantum-harbor-lab`)."""
_DYNAMIC = frozenset({"__import__", "eval", "exec", "compile"})
_FORBIDDEN_MODULES = {"random", "secrets", "uuid"}
_CLOCKS = {"datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today", "os.urandom", "os.getpid",
           "os.getenv", "os.environ"}  # fmt: skip
_NUMPY_RANDOM = {"Generator", "SeedSequence", "PCG64", "PCG64DXSM", "Philox", "SFC64", "BitGenerator"}
_SEEDABLE = {"numpy.random.default_rng", "numpy.random.SeedSequence"}
_THRESHOLD_CALLS = {"below", "above", "Criterion"}


def names_of(tree: ast.AST) -> dict[str, str]:
    """Local name -> dotted name, for everything that is imported."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted_name(node: ast.AST, names: dict[str, str]) -> str | None:
    """The imported thing that an expression such as `np.random.rand` names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(parts)])


def outside_state(modules: Iterable[ModuleType]) -> Iterator[tuple[str, str]]:
    """Uses of clocks, of the environment and of random state other than a given generator, as (`file:line`, what)."""
    for module in modules:
        try:
            source = inspect.getsource(module)
        except (OSError, TypeError):
            continue
        tree = ast.parse(source)
        names = names_of(tree)
        file = Path(str(module.__file__)).name
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Name):
                name = dotted_name(node, names)
                if name is not None and _is_outside(name):
                    yield f"{module.__name__} ({file}:{node.lineno})", name
            if isinstance(node, ast.Call) and not node.args and not node.keywords and dotted_name(node.func, names) in _SEEDABLE:
                yield f"{module.__name__} ({file}:{node.lineno})", "numpy.random generator without a seed"


def _is_outside(name: str) -> bool:
    root, _, rest = name.partition(".")
    if root in _FORBIDDEN_MODULES or (root == "time" and rest):
        return True
    if name.startswith("numpy.random."):
        return name.split(".")[2] not in _NUMPY_RANDOM | {"default_rng"}
    return any(name == c or name.startswith(c + ".") for c in _CLOCKS)


def foreign_imports(folder: Path) -> Iterator[tuple[str, str]]:
    """What the scripts of a solution import or load besides the standard library, the agent's packages and each other."""
    own = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/__init__.py")}
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError as exc:
            yield path.name, f"not Python: {exc.msg}"
            continue
        for node in ast.walk(tree):
            where = f"{path.relative_to(folder)}:{getattr(node, 'lineno', 0)}"
            for root in _imported(node):
                if root not in own and root not in WORKBENCH and (root not in sys.stdlib_module_names or root == "importlib"):
                    yield where, f"imports {root}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _DYNAMIC:
                yield where, f"calls {node.func.id}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) == ("sys", "modules"):
                yield where, "uses sys.modules"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [a.name.split(".")[0] for a in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [str(node.module).split(".")[0]]
    return []


def thresholds(module: ModuleType) -> tuple[dict[str, Any], list[tuple[int, float]]]:
    """The constants that decide in a grader's module, by name, and (line, value) of limits written as bare numbers.

    A constant decides if it stands in the arguments of `below`, `above` or `Criterion`, or in a comparison.
    """
    tree = ast.parse(inspect.getsource(module))
    constants = {n: v for n, v in vars(module).items() if n.isupper() and not n.startswith("_") and _numeric(v)}
    used: dict[str, Any] = {}
    bare: list[tuple[int, float]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in _THRESHOLD_CALLS:
            parts: list[ast.AST] = [*node.args, *(k.value for k in node.keywords if k.arg not in ("note", "unit"))]
            limit = node.args[3] if len(node.args) > 3 else next((k.value for k in node.keywords if k.arg == "limit"), None)
            if isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and not isinstance(limit.value, bool):
                bare.append((node.lineno, float(limit.value)))
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        else:
            continue
        for part in parts:
            used |= {n.id: constants[n.id] for n in ast.walk(part) if isinstance(n, ast.Name) and n.id in constants}
    return used, bare


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _numeric(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(_numeric(v) for v in value)
    return isinstance(value, int | float) and not isinstance(value, bool)

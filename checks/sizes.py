"""Lengths of functions and files, names of rooms, broad excepts, and where the environment is read."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checks.tree import PACKAGES, ROOT, files, finish

BANNED_ROOMS = {"utils", "util", "helpers", "helper", "manager", "service", "common"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """`[tool.harvester.sizes]` of pyproject.toml; `justified` maps a path to the reason why it may be longer."""

    function_lines: int
    file_lines: int
    broad_excepts: int
    justified: dict[str, str]

    @classmethod
    def read(cls, root: Path = ROOT) -> "Limits":
        return cls(**tomllib.loads((root / "pyproject.toml").read_text())["tool"]["harvester"]["sizes"])


def long_functions(path: Path, tree: ast.AST, limit: int) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > limit:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines, over {limit}: split it"


def banned_room(path: Path) -> Iterator[str]:
    for part in (*path.parts[:-1], path.stem):
        if part in BANNED_ROOMS:
            yield f"{path}: a room named {part} says nothing: name it after its noun"


def long_file(path: Path, text: str, limits: Limits) -> Iterator[str]:
    lines = text.count("\n")
    if lines > limits.file_lines and str(path) not in limits.justified:
        yield f"{path}: {lines} lines, over {limits.file_lines}: split it, or justify it in pyproject.toml"


def broad_excepts(path: Path, tree: ast.AST) -> Iterator[str]:
    """`except:`, `except Exception`, `except BaseException`, alone or in a tuple, and `suppress(Exception)`."""
    for node in ast.walk(tree):
        if _catches_all(node):
            yield f"{path}:{getattr(node, 'lineno', 0)}"


def environment_reads(path: Path, tree: ast.AST) -> Iterator[str]:
    """Settings are read once, at the edge: in a room whose name begins with `settings`."""
    if path.stem.startswith("settings"):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
            yield f"{path}:{node.lineno}: reads the environment; only crawler/settings*.py does"


def _catches_all(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        return node.type is None or _names_broad(node.type)
    return isinstance(node, ast.Call) and _called(node) == "suppress" and any(map(_names_broad, node.args))


def _names_broad(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return any(map(_names_broad, node.elts))
    return isinstance(node, ast.Name) and node.id in {"Exception", "BaseException"}


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def problems(root: Path, limits: Limits) -> list[str]:
    found: list[str] = []
    broad: list[str] = []
    for path in files(".py", ".sql", ".html", ".js", root=root):
        text = (root / path).read_text()
        found += [*banned_room(path), *long_file(path, text, limits)]
        if path.suffix == ".py":
            tree = ast.parse(text, str(path))
            found += long_functions(path, tree, limits.function_lines)
            if path.parts[0] in PACKAGES:
                broad += broad_excepts(path, tree)
                found += environment_reads(path, tree)
    if len(broad) > limits.broad_excepts:
        found.append(f"{len(broad)} broad excepts, {limits.broad_excepts} may be: {', '.join(broad)}")
    found += [
        f"pyproject.toml justifies {path}, which is gone" for path in limits.justified if not (root / path).exists()
    ]
    return found


if __name__ == "__main__":
    finish("sizes", problems(ROOT, Limits.read()))

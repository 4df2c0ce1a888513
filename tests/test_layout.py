"""The layout of the package: which folder may import which, and names that exist once."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gpu_tools"
FAMILIES = {"spliced", "sites", "local", "matching", "segments", "search"}
ORDER = (
    {"errors"},
    {"model", "hardware"},
    {"formats", "splicing"},
    {"exons", "report"},
    FAMILIES,
    {"annotate", "estimate", "lift"},
    {"cli"},
    {"__main__"},
)
"""Folders and modules of the package from the lowest floor up: each imports only lower ones."""
FLOOR = {name: floor for floor, names in enumerate(ORDER) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Return the full names of what a module imports, wherever in it that happens."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def place_of(name: str) -> str | None:
    """Return the folder or module of the package that holds a full name, None if none does."""
    parts = name.split(".")
    return parts[1] if parts[0] == "gpu_tools" and len(parts) > 1 and parts[1] in FLOOR else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_lower_floors_or_its_own_folder(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    others = {place_of(name) for name in imports_of(path)} - {None, own}
    assert not {other for other in others if FLOOR[other] >= FLOOR[own]}


def modules_of(family: str, device: str) -> list[Path]:
    """Return a family's modules for a device: one, or those of a folder."""
    folder = PACKAGE / family
    found = [*folder.glob(f"{device}.py"), *(folder / device).glob("*.py")]
    assert found or family == "search"
    return found


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_cpu_and_gpu_do_not_know_the_public_functions(family):
    wrong = {
        (path.name, name)
        for device in ("cpu", "gpu")
        for path in modules_of(family, device)
        for name in imports_of(path)
        if name.startswith(f"gpu_tools.{family}.api")
    }
    assert not wrong


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_cpu_does_not_need_the_gpu(family):
    names = {n for path in modules_of(family, "cpu") for n in imports_of(path)}
    assert not {n for n in names if n.startswith(("numba.cuda", "gpu_tools.hardware.gpu"))}
    assert not {n for n in names if n.startswith(f"gpu_tools.{family}.gpu")}


def test_nothing_lies_loose_at_the_root():
    assert {path.name for path in PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "errors.py",
    }


def test_the_house_has_few_rooms_and_floors():
    """The root, its folders, and the two folders of hardware; `__main__` stands at the door."""
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES} - {
        path.name for path in PACKAGE.glob("*.py")
    }
    assert folders | {"errors", "__main__"} == set(FLOOR)
    assert len({"the root", "hardware/cpu", "hardware/gpu"} | folders) <= 19
    assert len(ORDER[:-1]) <= 7


def test_pysam_is_known_to_formats_alone():
    users = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        if "pysam" in {name.split(".")[0] for name in imports_of(path)}
    }
    assert users <= {"formats"}


def test_assembly_is_known_to_the_intrinsics_alone():
    users = {path for path in MODULES if re.search(r"InlineAsm|\.asm\(", path.read_text())}
    assert {path.parent for path in users} == {PACKAGE / "hardware" / "gpu" / "intrinsics"}


def test_a_class_name_exists_once():
    places = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(str(path.relative_to(PACKAGE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_a_public_constant_has_one_value():
    values = defaultdict(set)
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id.isupper():
                        values[target.id.lstrip("_")].add(repr(node.value.value))
    assert not {name: found for name, found in values.items() if len(found) > 1}


def body_lines(function: ast.FunctionDef) -> int:
    """Return the lines of a function's body, those of inner functions included, no docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


def test_a_function_has_at_most_60_lines():
    """But for kernels and sweeps, whose speed rests on the names that a loop holds in registers."""
    functions = {
        (str(path.relative_to(PACKAGE)), node.name): body_lines(node)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name for name, lines in functions.items() if lines > 60} <= {
        ("lift/cpu.py", "align_box"),
        ("sites/cpu/block.py", "sweep_block"),
        ("sites/cpu/coding.py", "sweep_coding_block"),
        ("sites/proteins/cpu/block.py", "_sweep_rows"),
        ("sites/proteins/gpu/traceback.py", "_follow"),
        ("sites/gpu/codon_rows.py", "make_operate"),
        ("sites/gpu/codon_sweep.py", "_make_sweep"),
        ("sites/gpu/codon_sweep.py", "make_happen"),
        ("sites/gpu/sweep.py", "_make_sweep"),
    }


def test_a_module_has_at_most_1000_lines():
    assert not [path for path in MODULES if len(path.read_text().splitlines()) > 1000]

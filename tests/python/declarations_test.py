"""declarations_test.py SOURCE CC SCRATCH: the declarations of the Python package are those of glinfer.h.

tools/python/generate writes the same file again, the settings that the package names exist, and the C compiler has the
sizes, offsets and numbers that ctypes has.
"""
import ctypes
import importlib.util
import pathlib
import subprocess
import sys
from enum import IntEnum

SOURCE, SCRATCH = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
PACKAGE = SOURCE / "tools" / "python"


def load_declarations():
    """Loads _ffi.py alone, since the package itself loads the library."""
    spec = importlib.util.spec_from_file_location("_ffi", PACKAGE / "glinfer" / "_ffi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assertions(ffi):
    names = (SOURCE / "src" / "glinfer.h").read_text()
    for name, value in vars(ffi).items():
        if isinstance(value, type) and issubclass(value, ctypes.Structure) and value is not ctypes.Structure:
            yield f'_Static_assert(sizeof(struct {name}) == {ctypes.sizeof(value)}, "{name}");'
            for field, *_ in value._fields_:
                yield f'_Static_assert(offsetof(struct {name}, {field}) == {getattr(value, field).offset}, "{name}.{field}");'
        elif isinstance(value, type) and issubclass(value, IntEnum) and value is not IntEnum:
            for member in value:
                found = [word for word in (f"GLINFER_{prefix}{member.name}" for prefix in prefixes(name)) if word in names]
                assert found or name == "Status", f"{name}.{member.name} is not in glinfer.h"
                label = found[0] if found else f"GLINFER_STATUS_{member.name}"
                yield f'_Static_assert({label} == {member.value}, "{label}");'


def prefixes(name):
    """Returns the prefixes that an enum's constants may have: CacheType: CACHE_TYPE_, CACHE_."""
    words = "".join(" " + char if char.isupper() else char for char in name).upper().split()
    return ["_".join(words[:n]) + "_" for n in range(len(words), 0, -1)]


def main():
    subprocess.run([sys.executable, PACKAGE / "generate", "--check"], check=True)
    ffi = load_declarations()
    lines = list(assertions(ffi))
    assert len(lines) > 400, len(lines)
    functions = "\n".join(f"    (void)&{name};" for name in ffi.PROTOTYPES)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    program = SCRATCH / "declarations.c"
    program.write_text("#include <glinfer.h>\n" + "\n".join(lines) + f"\nvoid use(void);\nvoid use(void)\n{{\n{functions}\n}}\n")
    subprocess.run([sys.argv[2], "-std=c11", "-fsyntax-only", "-I", SOURCE / "src", program], check=True)
    print(f"{len(lines)} facts about {len(ffi.PROTOTYPES)} functions and their types agree")


main()

"""Where the native side of the package lies: `python -m pypto.config --cmake-dir`."""

from __future__ import annotations

import argparse
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = {
    "cmake": (_PACKAGE / "cmake", "for find_package(pypto CONFIG): pass it as pypto_ROOT"),
    "include": (_PACKAGE / "include", "of pypto/c_api.h, pypto/pypto.hpp and pypto/mock_acl.h"),
    "library": (_PACKAGE, "of libpypto.so and the mock ACL library"),
    "pkgconfig": (_PACKAGE / "pkgconfig", "of pypto.pc: add it to PKG_CONFIG_PATH"),
}


def main() -> None:
    """Prints the folders asked for, one a line."""
    parser = argparse.ArgumentParser(prog="python -m pypto.config", description=__doc__)
    for name, (_, use) in _FOLDERS.items():
        parser.add_argument(f"--{name}-dir", dest="names", action="append_const", const=name, help=f"folder {use}")
    names = parser.parse_args().names
    if not names:
        parser.error("say which folder: " + ", ".join(f"--{name}-dir" for name in _FOLDERS))
    for name in names:
        print(_FOLDERS[name][0])


if __name__ == "__main__":
    main()

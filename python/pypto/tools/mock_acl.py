"""Makes a folder of links with the vendor's library names, so that other people's programs run on the mock.

python -m pypto.tools.mock_acl DIR; then LD_LIBRARY_PATH=DIR ./program
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pypto import testing
from pypto.errors import PyptoError

__all__ = ["LIBRARY_NAMES", "main", "make_links"]

# What programs name: the older umbrella library, the library itself; and the mock's own name, which a program that was
# linked against one of these links asks for.
LIBRARY_NAMES = ("libascendcl.so", "libacl_rt.so", "libpypto_mock_acl.so")


def make_links(folder: Path) -> list[Path]:
    """Links to the packaged mock, replacing links that are there. FileExistsError for anything that is no link."""
    library = Path(testing.mock_library_path())
    folder.mkdir(parents=True, exist_ok=True)
    links = [folder / name for name in LIBRARY_NAMES]
    for link in links:
        if link.exists() and not link.is_symlink():
            raise FileExistsError(f"{link} is a file and no link: choose a folder without ACL libraries in it")
    for link in links:
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    return links


def main(arguments: list[str] | None = None) -> int:
    """Returns 0, or 1 with a message when the folder cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m pypto.tools.mock_acl", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the links go; made when it is missing")
    folder = parser.parse_args(arguments).folder
    try:
        links = make_links(folder)
    except (OSError, PyptoError) as error:
        print(f"mock_acl: {error}", file=sys.stderr)
        return 1
    for link in links:
        print(f"{link} -> {link.readlink()}")
    print(f"run a program on the mock: LD_LIBRARY_PATH={folder.resolve()} PROGRAM")
    return 0


if __name__ == "__main__":
    sys.exit(main())

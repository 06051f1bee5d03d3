"""Writes what follows from docs/openapi.json: models, parameters and methods. Run it after the document has changed.

    python generate.py [--check]

`--check` writes nothing and exits with 1 if a file is stale. Names of methods are in ../operations.json, which both clients share.
"""

import filecmp
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import generate_blocking
import generate_methods
import generate_models

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "switchhook"
FILES = ["models.py", "params.py", "_resources.py", "_async_resources.py", "_transport.py", "_client.py"]


def write(folder: Path) -> None:
    document = generate_models.resolved(json.loads((HERE / "../../docs/openapi.json").read_text()))
    names = json.loads((HERE / "../operations.json").read_text())
    generate_models.main(document, folder)
    generate_methods.main(document, names, folder)
    generate_blocking.main(folder)
    ruff = [str(Path(sys.executable).parent / "ruff"), "format", "--quiet", "--config", str(HERE / "pyproject.toml")]
    subprocess.run([*ruff, *(str(folder / name) for name in FILES)], check=True)


def main() -> int:
    if "--check" not in sys.argv:
        write(PACKAGE)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        stale = [name for name in FILES if not filecmp.cmp(Path(folder) / name, PACKAGE / name, shallow=False)]
    for name in stale:
        print(f"clients/python/src/switchhook/{name} is stale: python clients/python/generate.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

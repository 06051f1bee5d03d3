#!/usr/bin/env python3
"""Writes the wheel of the distribution `switchhook`: the program, as a script that pip and uv put on the PATH.

    packaging/python/build_wheel.py BINARY PLATFORM_TAG OUTPUT_FOLDER

PLATFORM_TAG is that of the wheel: manylinux_2_36_x86_64 for a binary that needs glibc 2.36, or for a static binary
musllinux_1_1_x86_64.manylinux2014_x86_64, macosx_11_0_arm64 and so on; several are joined with dots. Needs Python 3.11, nothing else.
The same input gives the same bytes.
"""

import base64
import hashlib
import stat
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD_PARTY.md"]
PLATFORMS = ("manylinux", "musllinux", "linux_", "macosx_")
BUILT_AT = (1980, 1, 1, 0, 0, 0)


def fail(message: str) -> None:
    sys.exit(f"build_wheel: {message}")


def metadata(package: dict[str, object]) -> str:
    lines = [
        "Metadata-Version: 2.4",
        "Name: switchhook",
        f"Version: {package['version']}",
        f"Summary: {package['description']}",
        f"License-Expression: {package['license']}",
        *(f"License-File: {name}" for name in LICENCES),
        "Keywords: voice,telephony,agents",
        "Classifier: Environment :: Console",
        "Classifier: Topic :: Communications :: Telephony",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    description = (ROOT / "packaging/README.md").read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n" + description


def wheel_file(tags: list[str]) -> str:
    lines = ["Wheel-Version: 1.0", "Generator: switchhook", "Root-Is-Purelib: false"]
    return "\n".join(lines + [f"Tag: py3-none-{tag}" for tag in tags]) + "\n"


class Wheel:
    """A zip file that notes the hash of what is put into it."""

    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record: list[str] = []

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")
        self.write(name, content, mode)

    def write(self, name: str, content: bytes, mode: int) -> None:
        info = zipfile.ZipInfo(name, BUILT_AT)
        info.create_system = 3  # Unix, so that the mode counts
        info.external_attr = (stat.S_IFREG | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(info, content)

    def close(self, record_name: str) -> None:
        self.write(record_name, ("\n".join([*self.record, f"{record_name},,"]) + "\n").encode(), 0o644)
        self.archive.close()


def main() -> None:
    if len(sys.argv) != 4:
        fail("usage: build_wheel.py BINARY PLATFORM_TAG OUTPUT_FOLDER")
    binary, tags, output = Path(sys.argv[1]), sys.argv[2].split("."), Path(sys.argv[3])
    if not binary.is_file():
        fail(f"{binary} is not a file. Build it first: cargo build --profile dist --package switchhook")
    for tag in tags:
        if not tag.startswith(PLATFORMS):
            fail(f"{tag} is not a platform tag; for example manylinux_2_36_x86_64")
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    version = package["version"]
    if not all(part.isdigit() for part in version.split(".")):
        fail(f"version {version} of Cargo.toml has another form in Python; this script knows only 1.2.3")

    output.mkdir(parents=True, exist_ok=True)
    path = output / f"switchhook-{version}-py3-none-{'.'.join(tags)}.whl"
    info = f"switchhook-{version}.dist-info"
    wheel = Wheel(path)
    wheel.add(f"switchhook-{version}.data/scripts/switchhook", binary.read_bytes(), 0o755)
    wheel.add(f"{info}/METADATA", metadata(package).encode())
    wheel.add(f"{info}/WHEEL", wheel_file(tags).encode())
    for name in LICENCES:
        wheel.add(f"{info}/licenses/{name}", (ROOT / name).read_bytes())
    wheel.close(f"{info}/RECORD")
    print(path)


if __name__ == "__main__":
    main()

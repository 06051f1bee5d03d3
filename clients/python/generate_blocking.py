"""Writes the client that blocks from the one for asyncio."""

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src" / "switchhook"
HEADER = "# Written by generate.py from {}: do not edit.\n"

#: In this order.
WORDS = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bimport asyncio\n", "import time\n"),
    (r"\bfor asyncio\b", "that blocks"),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\ba(read|close|iter_bytes)\(", r"\1("),
    (r"\bAsyncGenerator\[(.*), None\]", r"Generator[\1, None, None]"),
    (r"Async", ""),
    (r"\baclosing\b", "closing"),
    (r"_async_", "_"),
    (r"Close it, or use it in an `with`", "Threads can share it. Close it, or use it in a `with`"),
]


def blocking(text: str) -> str:
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return text


def main(folder: Path) -> None:
    for name in ("_async_transport.py", "_async_client.py"):
        text = blocking((SOURCE / name).read_text())
        (folder / name.replace("_async_", "_")).write_text(HEADER.format(name) + text)

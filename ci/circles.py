#!/usr/bin/env python3
"""Fails if files of a crate import each other in a circle.

    ci/circles.py

A file may use its parent's items, and a parent its children's: together they are one module. Tests are not looked at.
"""

import collections
import pathlib
import re
import sys


def expand(prefix, tree):
    """Yields the paths of a use tree, without spaces."""
    brace = tree.find("{")
    if brace < 0:
        yield prefix + tree
        return
    prefix, depth, item = prefix + tree[:brace], 0, ""
    for char in tree[brace + 1 : -1]:
        if char == "," and depth == 0:
            yield from expand(prefix, item)
            item = ""
            continue
        depth += (char == "{") - (char == "}")
        item += char
    if item:
        yield from expand(prefix, item)


def uses(text):
    """Yields the paths that a file uses of its own crate."""
    code = re.split(r"#\[cfg\(test\)\]\s*mod tests", text)[0]
    code = re.sub(r"//.*", "", code)
    for match in re.finditer(r"\buse\s+((?:crate|super|self)[^;]*);", code):
        yield from expand("", re.sub(r"\s+", "", re.sub(r"\bas\s+\w+", "", match.group(1))))
    yield from re.findall(r"\b((?:crate|super)(?:::\w+)+)", re.sub(r"\buse\s+[^;]*;", "", code))


def modules(root):
    """Returns the files of a crate by module path, as tuples."""
    found = {}
    for file in root.rglob("*.rs"):
        path = file.relative_to(root).with_suffix("").parts
        if "tests" not in path and path[0] != "fuzz":
            found[path[:-1] if path[-1] == "mod" else path] = file
    return found


def arrows(root):
    """Returns which modules each module uses."""
    files = modules(root)
    graph = collections.defaultdict(set)
    for module, file in files.items():
        here = () if module in (("lib",), ("main",)) else module
        for use in uses(file.read_text()):
            parts = use.split("::")
            base = () if parts[0] == "crate" else here
            parts = parts[1:] if parts[0] in ("crate", "self") else parts
            while parts and parts[0] == "super":
                base, parts = base[:-1], parts[1:]
            target = base + tuple(parts)
            while target and target not in files:
                target = target[:-1]
            if target and target != module and module[: len(target)] != target:
                graph[module].add(target)
    return graph


def circles(graph):
    """Returns the sets of modules that reach each other."""

    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for target in graph.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reached = {module: reach(module) for module in list(graph)}
    found = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in reached if a in reached[a]}
    return sorted(found, key=len)


def main():
    crates = pathlib.Path(__file__).resolve().parent.parent / "crates"
    failed = False
    for root in sorted(crates.glob("*/src")):
        graph = arrows(root)
        for circle in circles(graph):
            failed = True
            print(f"{root.parent.name}: a circle of imports")
            for module in sorted(circle):
                for target in sorted(graph[module] & circle):
                    print(f"    {'::'.join(module)} -> {'::'.join(target)}")
    if failed:
        sys.exit("Move what both sides need into a file of its own.")


main()

#!/usr/bin/env python3
"""Fails if files of a crate, a benchmark or the dashboard import each other in a circle.

    ci/circles.py

A Rust file may use its parent's items, and a parent its children's: together they are one module. Tests are not looked at.
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
    """Yields the paths that a file uses of its own crate. Paths that begin with a child module begin with `self` here."""
    code = re.sub(r"//.*", "", text)
    code = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", code)[0]
    code = re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?(?:mod|use)\s[^;]*;", "", code)
    children = "|".join(re.findall(r"\bmod (\w+);", code)) or "self"
    first = rf"(?:crate|super|self|{children})"
    for match in re.finditer(rf"\buse\s+({first}\b[^;]*);", code):
        for path in expand("", re.sub(r"\s+", "", re.sub(r"\bas\s+\w+", "", match.group(1)))):
            yield path if re.match(r"(?:crate|super|self)\b", path) else f"self::{path}"
    code = re.sub(r"\buse\s+[^;]*;", "", code)
    yield from re.findall(r"(?<!:)\b((?:crate|super)(?:::\w+)+)", code)
    yield from (f"self::{path}" for path in re.findall(rf"(?<![:\w])((?:{children})(?:::\w+)+)", code))


def modules(root):
    """Returns the files of a crate by module path, as tuples."""
    found = {}
    for file in root.rglob("*.rs"):
        path = file.relative_to(root).with_suffix("").parts
        if "tests" not in path and path[0] != "fuzz":
            found[path[:-1] if path[-1] == "mod" else path] = file
    return found


def rust_arrows(root):
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


def typescript_arrows(root):
    """Returns which files each file of the dashboard imports. What is loaded only when it is needed does not count."""
    graph = collections.defaultdict(set)
    for file in root.rglob("*.ts*"):
        code = re.sub(r"//.*", "", file.read_text())
        for path in re.findall(r"""(?:\bfrom|\bimport)\s+["'](\.[^"']*)["']""", code):
            # A suffix other than these belongs to a style sheet or an image.
            base = (file.parent / path).resolve()
            found = [target for suffix in (".ts", ".tsx") if (target := base.with_name(base.name + suffix)).exists()]
            graph[name(root, file)].update(name(root, target) for target in found)
    return graph


def name(root, file):
    """Returns the path of a file within its root, as a tuple."""
    return file.resolve().relative_to(root.resolve()).with_suffix("").parts


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    graphs = {root.parent.name: rust_arrows(root) for root in sorted(top.glob("crates/*/src"))}
    graphs |= {f"bench/{file.parent.name}": rust_arrows(file.parent) for file in sorted(top.glob("bench/*/main.rs"))}
    graphs["dashboard"] = typescript_arrows(top / "dashboard/src")
    failed = False
    for where, graph in graphs.items():
        for circle in circles(graph):
            failed = True
            print(f"{where}: a circle of imports")
            for module in sorted(circle):
                for target in sorted(graph[module] & circle):
                    print(f"    {'::'.join(module)} -> {'::'.join(target)}")
    if failed:
        sys.exit("Move what both sides need into a file of its own.")


main()

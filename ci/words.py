#!/usr/bin/env python3
"""Fails if too many comments of a crate use turns that do not belong there.

    ci/words.py          prints the share of comment lines with such a turn for each crate
    ci/words.py CRATE    lists the lines of that crate too, whether or not it is above its limit

The tests with the whole service (tests/it) and the benchmarks (bench) have limits of their own. Only lines that are comments as a whole count.
"""

import pathlib
import re
import sys

# The remarks say what is usually meant.
TURNS = [
    r"whoever", r"nobody|no one", r"somebody|someone", r"strangers?",  # the caller, the client, another node, no task, untrusted hosts
    r"what(ever|soever)", r"for ever", r"in vain", r"anew|once more",  # any; without end; without result; again
    r"c[ao]mes? of", r"becomes? of", r"fate", r"to its end",  # the result, the outcome; what happens to; completely
    r"go(es)? on|going on|went on", r"rings? on", r"passes? on",  # continues, keeps running; rings out; forwards, transfers
    r"at hand", r"in the air", r"of no use", r"misshapen",  # available, pending; in flight; unusable, invalid; malformed
    r"(is|are|was|were) to be", r"(is|are|was|were) told",  # must, will, should; is sent, is notified
    r"tells? (of|what|whether|when|which|who|how)", r"judged?",  # reports, returns; checks, decides
    r"any more(?=[.,;:)]|$)", r"no more(?=[.,;:)]|$)",  # no longer; nothing else
    r"by (itself|themselves)", r"by (its|their) own", r"of (its|their|one's) own",  # separately, without being asked; its own X
    r"as well(?! as)", r"all the same", r"(is|are) (not )?ours",  # also; still, anyway; our own
    r"deeds?", r"happenings?", r"mend(s|ed)?",  # tool call, action; event; fix
    r"lets? go of|letting go of", r"look(s|ed)? after", r"it has shown",  # releases; maintains; its state
    r"there (is|are|was|were) none", r"(may|can) be none",  # without one, unless it exists
]
# A doc comment begins with a verb or a noun ("State of a call"), not with a clause ("What is known of a call").
OPENINGS = r"^\s*//[/!] (What|Who|Whom|Whose|That (it|the|a|an|this)|Tells) "
BANNED = re.compile(rf"//.*?\b({'|'.join(TURNS)})\b|{OPENINGS}", re.IGNORECASE)

# The largest share for each, in percent of its comment lines. The aim is 2 for all of them.
LIMITS = {"bench": 1}


def comments(root):
    """Yields file, number and text of the comment lines in a folder."""
    for file in sorted(root.rglob("*.rs")):
        if "tests/it/" not in file.as_posix() or root.name == "it":
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if line.lstrip().startswith("//"):
                    yield file, number, line


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    roots = {path.name: path for path in sorted((top / "crates").iterdir())}
    roots |= {"tests/it": top / "crates/server/tests/it", "bench": top / "bench"}
    failed = False
    for name, root in roots.items():
        found, total = [], 0
        for total, (file, number, line) in enumerate(comments(root), 1):
            if match := BANNED.search(line):
                found.append(f"    {file.relative_to(top)}:{number}: {(match.group(1) or match.group()).strip()}")
        share, limit = 100 * len(found) / max(total, 1), LIMITS.get(name, 2)
        print(f"{name}: {len(found)} of {total} comment lines, {share:.1f} % of at most {limit} %")
        if share > limit or name in sys.argv[1:]:
            print("\n".join(found))
        failed |= share > limit
    if failed:
        sys.exit("Say it plainly: ci/words.py names what is usually meant.")


main()

"""Tell whether folders of packages have what is required: argv has pip's folder, the requirements as JSON, and the folders,
of which the first counts first. It says yes or no, and is given to python -c.
"""

import json
import sys
from importlib.metadata import distributions


def _has(requirements, folders):
    from pip._vendor.packaging.requirements import Requirement
    from pip._vendor.packaging.utils import canonicalize_name

    there = {}
    for found in distributions(path=folders):
        there.setdefault(canonicalize_name(found.metadata["Name"] or ""), found)
    todo, seen = [(Requirement(text), "") for text in requirements], set()
    while todo:
        wanted, extra = todo.pop()
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        found = there.get(canonicalize_name(wanted.name))
        if found is None or not wanted.specifier.contains(found.version, prereleases=True):
            return False
        for extra in wanted.extras:
            if (wanted.name, extra) in seen:
                continue
            seen.add((wanted.name, extra))
            needs = map(Requirement, found.requires or ())
            todo += [(need, extra) for need in needs if need.marker and not need.marker.evaluate({"extra": ""})]
    return True


sys.path.insert(0, sys.argv[1])
print("yes" if _has(json.loads(sys.argv[2]), sys.argv[3:]) else "no")

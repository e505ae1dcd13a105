"""libsecret's own C tests in Debian 12's version, with the real service instead of their mock.

Tests that never call a service are left out. test-prompt is left out too, because only the mock has its prompts.
"""

import re
import shutil

from service import HERE
from sources import build, from_debian, make_readable, unpack
from suite import Suite

ARCHIVE = "libsecret_0.20.5.orig.tar.xz"
CHECKSUM = "56cfc341137da870cf9e24e297d5c0b3c3e403493581609311a88d2149d7d0c3"
OPTIONS = [f"-D{name}=false" for name in ("manpage", "introspection", "vapi", "gtk_doc")]
PROGRAMS = ["collection", "item", "methods", "password", "paths", "service", "session"]
SUITE = Suite("libsecret", "0.20.5", 125)


def test_libsecret(service, folder, judge):
    source = unpack(from_debian("libsecret-1-0", ARCHIVE, CHECKSUM), folder)
    # The test programs know their source folder, and start the mocks from it.
    for mock in (source / "libsecret").glob("mock-service-*.py"):
        shutil.copy(HERE / "fixture.py", mock)
    built = folder / "built"
    if not built.exists():
        build("meson", "setup", built, *OPTIONS, folder=source)
    build("ninja", "-C", built, *(f"libsecret/test-{name}" for name in PROGRAMS), folder=source)
    make_readable(folder)
    outcomes, outputs = {}, []
    for name in PROGRAMS:
        program = built / f"libsecret/test-{name}"
        left = re.findall(r"^/\S+$", service.run(program, "-l", folder=folder), re.MULTILINE)
        while left:
            # A failed test ends its program, so another process runs the remaining tests.
            chosen = [word for test in left for word in ("-p", test)]
            output = service.run(program, *chosen, folder=folder)
            passed = re.findall(r"^ok \d+ (/\S+)", output, re.MULTILINE)
            outcomes |= {f"{name} {test}": "passed" for test in passed}
            left = [test for test in left if test not in passed]
            if left:
                outcomes[f"{name} {left.pop(0)}"] = "failed"
                outputs.append(output)
    judge(SUITE, outcomes, "\n".join(outputs))

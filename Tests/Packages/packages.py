"""The Debian packages under test, and variants of them."""

import re
import shutil
import subprocess

import pytest
from support.machine import REPOSITORY

BUILT = REPOSITORY / ".build/deb"
NAMES = ("latchkey", "libpam-latchkey")
APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-q", "--no-install-recommends")
PROGRAMS = ("usr/bin/*", "usr/libexec/*")


class Packages:
    """One build of the packages."""

    def __init__(self, files):
        self.files = files

    @classmethod
    def built(cls, names=NAMES):
        files = [file for name in names for file in BUILT.glob(f"{name}_*.deb")]
        if len(files) != len(names):
            pytest.fail("there are no packages to test: run `make deb`")
        return cls(files)

    @property
    def inside(self):
        """The paths of the packages in a machine, after `bring_to`."""
        return [f"/var/tmp/{file.parent.name}/{file.name}" for file in self.files]

    def bring_to(self, top):
        """Copies the packages into a machine. `top` is the machine's root folder."""
        for file, inside in zip(self.files, self.inside):
            target = top / inside.removeprefix("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)

    def renamed(self, version, folder):
        """The packages with another version. The packages' programs are changed files, and the units' descriptions name
        the newer version."""

        def change(name, tree):
            control = tree / "DEBIAN/control"
            text = re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.M)
            text = re.sub(r"(latchkey) \(= [^)]*\)", rf"\1 (= {version})", text)
            control.write_text(text)
            for pattern in PROGRAMS:
                for program in tree.glob(pattern):
                    with program.open("ab") as file:
                        file.write(b"another version")
            for unit in tree.glob("usr/lib/systemd/*/latchkey*.service"):
                unit.write_text(unit.read_text().replace("Description=", "Description=Newer: "))

        return self.changed(folder, change)

    def changed(self, folder, change):
        """The packages after `change(name, tree)` has changed the files of each."""
        files = []
        for name, file in zip(NAMES, self.files):
            tree = folder / name
            subprocess.run(["dpkg-deb", "-R", file, tree], check=True)
            change(name, tree)
            target = folder / f"{name}.deb"
            # The packages stay uncompressed, because compression would take most of the time.
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, target], check=True, capture_output=True)
            files.append(target)
        return Packages(files)

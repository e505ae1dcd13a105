"""The contents of a release: the list of its parts is complete, the same build gives the same files, and the workflow has only
the rights that it needs."""

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from support.documents import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
RELEASE = (REPOSITORY / ".github/workflows/release.yml").read_text()
BUILT = REPOSITORY / ".build/release"
MODULE = REPOSITORY / ".build/pam/pam_latchkey.so"
PROGRAMS = ("latchkeyd", "latchkey-derive", "latchkey-prompt", "latchkey-deviced", "latchkey-kwallet", "latchkey-ssh-agent", "latchkey-security-key", "latchkey")


def script(name):
    """A program of `packaging` as a module, although its name has no ending."""
    loader = importlib.machinery.SourceFileLoader(f"packaging_{name}", str(REPOSITORY / "packaging" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# SBOM


def dependencies():
    """Each package that Package.swift names: its identity, its version, and whether a target other than a test uses it."""
    manifest = (REPOSITORY / "Package.swift").read_text()
    programs, _, tests = manifest.partition("// Tests.\n")
    for url, version in re.findall(r'\.package\(url: "([^"]+)", exact: "([^"]+)"\)', manifest):
        name = url.rpartition("/")[2].removesuffix(".git")
        yield name.lower(), version, f'package: "{name}"' in programs, f'package: "{name}"' in tests


def test_the_sbom_has_each_swift_package_that_is_linked():
    known = list(dependencies())
    assert len(known) == (REPOSITORY / "Package.swift").read_text().count(".package(")
    assert all(linked or tested for _, _, linked, tested in known)
    listed = {each["name"]: each["versionInfo"] for each in script("sbom").swift_packages()}
    assert listed == {name: version for name, version, linked, _ in known if linked} != {}


def test_the_sbom_has_the_swift_runtime():
    assert script("sbom").swift()["versionInfo"] == re.search(r"Swift version (\S+)", output("swift", "--version"))[1]


@pytest.fixture(scope="module")
def sbom(tmp_path_factory):
    """The list of the packages in the programs that were built here."""
    if not all(path.exists() for path in [MODULE, *(BUILT / name for name in PROGRAMS)]):
        pytest.skip("the programs are not built: `make build`")
    stage = tmp_path_factory.mktemp("stage")
    for folder in ("usr/bin", "usr/libexec", "usr/lib/security"):
        (stage / folder).mkdir(parents=True)
    for name in PROGRAMS:
        (stage / ("usr/bin" if name == "latchkey" else "usr/libexec") / name).symlink_to(BUILT / name)
    (stage / "usr/lib/security/pam_latchkey.so").symlink_to(MODULE)
    return script("sbom").document(stage)


def related(sbom, kind):
    """The names of the packages that have this relation to ours."""
    names = {each["SPDXID"]: each["name"] for each in sbom["packages"]}
    ends = [
        {one["spdxElementId"], one["relatedSpdxElement"]} for one in sbom["relationships"] if one["relationshipType"] == kind]
    return {names[end] for both in ends for end in both} - {"latchkey"}


def owners(libraries):
    """The packages that contain the libraries, by dpkg's own lists of files."""
    names = "|".join(map(re.escape, libraries))
    return {
        path.name.removesuffix(".list").partition(":")[0] for path in pathlib.Path("/var/lib/dpkg/info").glob("*.list")
        if re.search(rf"/lib(64|/\w+-linux-gnu)/({names})$", path.read_text(), re.M)
    }


def test_the_sbom_has_each_library_that_a_program_links(sbom):
    needed = set()
    for path in [MODULE, *(BUILT / name for name in PROGRAMS)]:
        needed |= set(re.findall(r"^ +NEEDED +(\S+)$", output("objdump", "-p", path), re.M))
    assert {"libsodium.so.23", "libpam.so.0"} <= needed
    found = owners(needed)
    assert {"libsodium23", "libc6"} < found <= related(sbom, "DYNAMIC_LINK")


def test_the_sbom_has_each_library_that_a_program_opens(sbom):
    shims = "\n".join(path.read_text() for path in (REPOSITORY / "Sources").rglob("*.[hc]"))
    swift = "\n".join(path.read_text() for path in (REPOSITORY / "Sources").rglob("*.swift"))
    assert "dlopen" not in swift
    opened = re.findall(r'dlopen\("([^"]+)"', shims)
    assert len(opened) == shims.count("dlopen(") > 0
    assert owners(opened) == related(sbom, "OPTIONAL_DEPENDENCY_OF")


def test_the_sbom_says_what_is_linked_statically(sbom):
    assert related(sbom, "STATIC_LINK") == {"swift", *(name for name, _, linked, _ in dependencies() if linked)}


# The files of a release

INFORMATION = """\
Format: 1.0
Source: latchkey
Architecture: amd64
Version: 0.1.0
Build-Date: {date}
Installed-Build-Depends:
 debhelper (= 13.11.4),
 libsodium-dev (= 1.0.18-1+deb12u1)
Environment:
 LC_ALL="C.UTF-8"
 SOURCE_DATE_EPOCH="1795377600"
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Two small packages with the list that the release extracts."""
    folder = tmp_path_factory.mktemp("packages")
    for name in ("latchkey", "libpam-latchkey"):
        tree = folder / name
        documents = tree / "usr/share/doc" / name
        (tree / "DEBIAN").mkdir(parents=True)
        # dpkg-deb accepts no other mode, and the tests' user may have a mask that gives another mode.
        (tree / "DEBIAN").chmod(0o755)
        documents.mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 0.1.0\nArchitecture: amd64\nMaintainer: Nobody <nobody@latchkey.example>\nDescription: none\n")
        (documents / f"{name}.spdx.json").write_text('{"spdxVersion": "SPDX-2.3"}\n')
        target = folder / f"{name}_0.1.0_amd64.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, target], check=True, capture_output=True)
        shutil.rmtree(tree)
    return folder


def released(packages, folder, date="Sun, 22 Nov 2026 20:00:00 +0000", **environment):
    (packages / "latchkey_0.1.0_amd64.buildinfo").write_text(INFORMATION.format(date=date))
    command = [REPOSITORY / "packaging/release", "write", packages, folder]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def files(packages, tmp_path_factory):
    return released(packages, tmp_path_factory.mktemp("released") / "files")


@pytest.fixture(scope="module")
def statement(files):
    [name] = [name for name in files if name.endswith(".provenance.json")]
    return json.loads(files[name])


def test_the_checksums_are_of_every_file(files):
    listed = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != "SHA256SUMS"}


def test_the_names_of_two_releases_of_debian_differ(files):
    version = re.search(r'VERSION_ID="(\d+)"', pathlib.Path("/etc/os-release").read_text())[1]
    assert all(f"_debian{version}_amd64." in name for name in files if name != "SHA256SUMS")
    assert {name.partition("_")[0] for name in files if name.endswith(".deb")} == {"latchkey", "libpam-latchkey"}


def test_a_second_build_at_another_time_and_place_gives_the_same_files(files, packages, tmp_path):
    again = released(packages, tmp_path / "elsewhere", "Mon, 01 Jan 2035 00:00:00 +0000", TZ="Pacific/Kiritimati", LC_ALL="C", HOME="/")
    assert again == files


def test_the_provenance_is_of_every_package(files, statement):
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert subjects == {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name.endswith(".deb")}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"


def test_the_provenance_names_what_went_into_the_packages(statement):
    named = {each["name"]: each for each in statement["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert named["latchkey"]["digest"] == {"gitCommit": output("git", "-C", REPOSITORY, "rev-parse", "HEAD").strip()}
    assert re.fullmatch(r"[0-9a-f]{64}", named["swift-frontend"]["digest"]["sha256"])
    for name, version, _, _ in dependencies():
        assert named[name]["uri"].endswith(f"@{version}"), name
        assert re.fullmatch(r"[0-9a-f]{40}", named[name]["digest"]["gitCommit"]), name
    assert named["libsodium-dev"]["uri"].startswith("pkg:deb/debian/libsodium-dev@1.0.18-1%2Bdeb12u1?arch=amd64&distro=debian-")


def check_tag(folder, tag):
    shutil.copytree(REPOSITORY / "packaging", folder / "packaging", dirs_exist_ok=True)
    return subprocess.run([folder / "packaging/release", "check-tag", tag], capture_output=True, text=True)


@pytest.mark.parametrize("distribution, tag, message", [
    ("bookworm", "v1.2.3", None),
    ("bookworm", "v1.2.4", "the tag is v1.2.4, and debian/changelog has version 1.2.3"),
    ("bookworm", "1.2.3", "the tag is 1.2.3"),
    ("UNRELEASED", "v1.2.3", "debian/changelog says UNRELEASED"),
])
def test_a_tag_releases_what_the_changelog_says(tmp_path, distribution, tag, message):
    (tmp_path / "debian").mkdir()
    (tmp_path / "debian/changelog").write_text(
        f"latchkey (1.2.3) {distribution}; urgency=medium\n\n  * A change.\n\n"
        " -- Nobody <nobody@latchkey.example>  Sun, 22 Nov 2026 20:00:00 +0000\n")
    done = check_tag(tmp_path, tag)
    assert (done.returncode == 0) == (message is None)
    assert done.stderr.startswith(message or "")


# The workflow


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_one_commit(path):
    """A tag can be moved to other code, but a commit cannot. A comment names the version."""
    uses = re.findall(r"\buses: *(.*)", path.read_text())
    assert uses
    assert [each for each in uses if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_two_workflows_use_the_same_version_of_an_action():
    used = {each for path in WORKFLOWS for each in re.findall(r"\buses: *(.*)", path.read_text())}
    assert len(used) == len({each.partition("@")[0] for each in used})


def jobs():
    """The text of each job of the release, by its name."""
    parts = re.split(r"^  ([\w-]+):\n", RELEASE.partition("\njobs:\n")[2], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_only_the_job_that_publishes_can_write():
    """The publishing job runs nothing from the repository, and no compiler."""
    head = RELEASE.partition("\njobs:\n")[0]
    assert re.search(r"^permissions: \{\}$", head, re.M)
    granted = {name: set(re.findall(r"^      ([\w-]+): (read|write)$", text, re.M)) for name, text in jobs().items()}
    assert granted == {
        "packages": {("contents", "read")},
        "publish": {("contents", "write"), ("id-token", "write"), ("attestations", "write")},
    }
    assert "actions/checkout" not in jobs()["publish"]
    assert "persist-credentials: false" in jobs()["packages"]


def test_the_release_is_built_in_each_debian_that_the_packages_are_for():
    built = re.findall(r"- debian: (\d+)\n +image: (\S+)", jobs()["packages"])
    tested = re.findall(r'"(\w+)"', re.search(r"^RELEASES = (.*)$", (REPOSITORY / "Tests/Packages/release.py").read_text(), re.M)[1])
    assert [release for release, _ in built] == ["12", "13"]
    assert [re.split("[:-]", image)[-1] for _, image in built] == tested == ["bookworm", "trixie"]
    joined = re.findall(r"debian\d+/SHA256SUMS", jobs()["publish"])
    assert [f"debian{release}/SHA256SUMS" for release, _ in built] == joined[:2]
    assert f"for debian in {' '.join(f'debian{release}' for release, _ in built)}; do" in jobs()["publish"]


def test_both_are_built_by_the_same_compiler():
    [of_image] = re.findall(r"image: swift:([\d.]+)-", RELEASE)
    [installed] = re.findall(r"packaging/install-swift ([\d.]+)", RELEASE)
    assert of_image == installed
    wanted = re.match(r"// swift-tools-version: ([\d.]+)", (REPOSITORY / "Package.swift").read_text())[1]
    assert [int(part) for part in of_image.split(".")] >= [int(part) for part in wanted.split(".")]


def test_the_workflow_does_what_make_release_does():
    """So anybody can try the workflow's steps elsewhere."""
    assert re.search(r"^ +- run: make release$", jobs()["packages"], re.M)
    [folder] = re.findall(r"\(CURDIR\)/(\S+)", re.search(r"^release:(.*\n(\t.*\n)+)", (REPOSITORY / "Makefile").read_text(), re.M)[1])
    assert f"path: {folder}\n" in jobs()["packages"]
    assert 'packaging/release check-tag "$GITHUB_REF_NAME"' in jobs()["packages"]

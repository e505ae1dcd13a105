"""A program's own package builds with the client library, in every way in which public code writes such calls."""

import pathlib
import re
import subprocess

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "SecurityForms"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Builds, in one folder for all tests of this file and outside of the repository; gives what is printed."""
    scratch = tmp_path_factory.mktemp("forms")

    def run():
        built = subprocess.run(
            ["swift", "build", "--package-path", PACKAGE, "--scratch-path", scratch], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert built.returncode == 0, built.stdout
        return built.stdout

    run.output, run.scratch = run(), scratch
    return run


def test_every_form_compiles(build):
    compiled = {path.name.removesuffix(".swift.o") for path in build.scratch.glob("debug/*.build/*.o")}
    forms = {path.stem for path in PACKAGE.glob("Sources/*/*.swift")}
    assert len(forms) > 75 and forms <= compiled, forms - compiled


def test_none_is_warned_of(build):
    assert not re.findall(r".*warning:.*", build.output)


def test_a_neighbour_that_sees_the_library_can_import_it(build):
    # Which of the two is compiled first is not defined: the second time the library is there for certain.
    objects = list(build.scratch.glob("debug/Neighbour.build/*.o"))
    assert objects
    for path in objects:
        path.unlink()
    build()
    symbols = subprocess.run(["nm", *objects], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert re.search(r"U \S*8Security28SecCertificateCreateWithData", symbols)


@pytest.mark.parametrize("program", ["OnlySecurity", "OnlyContexts"])
def test_a_program_needs_one_product(build, program):
    nowhere = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    told = subprocess.run([build.scratch / "debug" / program], env=nowhere, text=True, stdout=subprocess.PIPE, check=True)
    assert told.stdout == "-25291\n"


def test_the_module_does_not_name_its_way_to_the_vault(build):
    for module in ("Security", "LocalAuthentication"):
        compiled = (build.scratch / f"debug/Modules/{module}.swiftmodule").read_bytes()
        for hidden in (b"KeychainClient", b"CSodium", b"CSystemd", b"CGcrypt", b"CLinux"):
            assert hidden not in compiled, (module, hidden)

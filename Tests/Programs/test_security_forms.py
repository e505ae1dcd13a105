"""A program's own package builds with the client library, in every form in which public code writes such calls."""

import re
import subprocess

import pytest
from support import clientpackage
from support.session import REPOSITORY

PACKAGE = REPOSITORY / "Tests/SecurityForms"
BUILT = clientpackage.SCRATCH / "debug"


@pytest.fixture(scope="module", autouse=True)
def build():
    """Builds the form. The library is built before the neighbour, because SwiftPM does not define their order. The targets treat
    warnings as errors."""
    if not (BUILT / "Modules/Security.swiftmodule").exists():
        clientpackage.build(REPOSITORY, "--target", "Security")
    clientpackage.build(PACKAGE, anew=["Neighbour"])


def test_every_form_compiles():
    targets = {path.parent.name for path in PACKAGE.glob("Sources/*/*.swift")}
    compiled = {path.name.removesuffix(".swift.o") for path in clientpackage.objects_of(targets)}
    forms = {path.stem for path in PACKAGE.glob("Sources/*/*.swift")}
    assert len(forms) > 75 and forms <= compiled, forms - compiled


def test_a_neighbour_that_sees_the_library_can_import_it():
    objects = clientpackage.objects_of(["Neighbour"])
    assert objects
    symbols = subprocess.run(["nm", *objects], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert re.search(r"U \S*16LatchkeySecurity28SecCertificateCreateWithData", symbols)


@pytest.mark.parametrize("program", ["OnlySecurity", "OnlyContexts"])
def test_a_program_needs_one_product(program):
    nowhere = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    told = subprocess.run([BUILT / program], env=nowhere, text=True, stdout=subprocess.PIPE, check=True)
    assert told.stdout == "-25291\n"


def test_the_module_does_not_name_its_way_to_the_vault():
    for module in ("Security", "LocalAuthentication"):
        compiled = (BUILT / f"Modules/{module}.swiftmodule").read_bytes()
        for hidden in (b"KeychainClient", b"CLatchkey"):
            assert hidden not in compiled, (module, hidden)

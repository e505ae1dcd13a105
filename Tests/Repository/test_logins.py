"""The table of logins in pam/README.md names existing services, and says "ignored" of exactly the services that the module
ignores."""

import re

from support.documents import REPOSITORY
from support.helper import EXCLUDED_SERVICES

TABLE = (REPOSITORY / "pam/README.md").read_text().partition("## What each login unlocks")[2].partition("\n## ")[0]
DOCTOR = (REPOSITORY / "Sources/Tools/Doctor/PAM/PAMService.swift").read_text()


def rows():
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\|.*\|$", TABLE, re.M)[2:]]
    return [(re.findall(r"`([^`]+)`", service), vault) for _, service, vault in cells]


def kind(name):
    """The services of one kind, as doctor lists them."""
    return re.findall(r'"([^"]+)"', re.search(rf"static let {name}: Set<String> = \[(.*?)\]", DOCTOR, re.S)[1])


def test_the_table_of_logins_says_of_which_services_nothing_comes():
    assert len(rows()) > 10 and len({service for services, _ in rows() for service in services}) > 20
    for services, vault in rows():
        assert services and [service in EXCLUDED_SERVICES for service in services] == [vault.startswith("ignored")] * len(services)


def test_the_table_of_logins_names_services_that_doctor_knows():
    known = {*EXCLUDED_SERVICES, *kind("logins"), *kind("lockers"), *kind("passwordlessOnes")}
    assert {service for services, _ in rows() for service in services} <= known

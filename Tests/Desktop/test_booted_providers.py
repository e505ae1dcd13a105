"""`latchkey switch` next to KWallet, next to KeePassXC, and on a system where no other program keeps secrets. The tests use the
real programs, with several logins after each switch. test_booted_switch.py has gnome-keyring, and Tests/Packages tests the
packages next to all of them."""

import pytest
from support.account import Account
from support.providers import (
    GNOME_KEYRING,
    KEEPASSXC,
    KWALLET,
    keepassxc,
    keepassxc_settings,
    kwallet,
    kwallet_settings,
    there_and_back,
    with_nobody,
)
from support.switching import away

pytestmark = pytest.mark.second_try

LOGINS = 2


@pytest.fixture
def person(machine):
    """A user of a system without gnome-keyring."""
    with away(machine, *GNOME_KEYRING):
        yield Account(machine, "carol", 2003, "sesame-3")


def test_kwallet(person):
    """latchkey-kwallet is installed too, and answers KDE's programs at the end."""
    kwallet_settings(person)
    former = kwallet(5)
    there_and_back(person, former, LOGINS)
    with former.running(person) as session:
        assert "Comm=latchkey-kwalle\n" in session.run("busctl --user status org.kde.kwalletd5").stdout


def test_keepassxc(person):
    with away(person.machine, *KWALLET):
        former = keepassxc()
        keepassxc_settings(person, former)
        there_and_back(person, former, LOGINS)


def test_no_other_provider(person):
    with away(person.machine, *KWALLET, *KEEPASSXC):
        with_nobody(person, LOGINS)

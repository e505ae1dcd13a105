"""The notification at the first login. The user manager starts its daemon under the system call filters of the unit."""

import pytest
from support.notifications import Notifications
from support.session import wait_until
from visitor import visitor

pytestmark = pytest.mark.second_try

STORES = (".local/share/keyrings/login.keyring", ".local/share/kwalletd/kdewallet.kwl")


def test_it_names_the_imports(alice):
    for path in STORES:
        alice.run("mkdir", "-p", f"{alice.home}/{path.rpartition('/')[0]}")
        alice.run("tee", f"{alice.home}/{path}", input="what nobody reads")
    with alice.login(), visitor(alice) as peer:
        notifications = Notifications(peer.session)
        wait_until(notifications.look, "the notification")
        ((_, text),) = notifications.shown
        notifications.close()
    assert "'latchkey import gnome-keyring'" in text and "'latchkey import kwallet'" in text

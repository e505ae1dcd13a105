"""The Secret portal with its real frontend, xdg-desktop-portal. The applications run in sandboxes like those of
Flatpak.
"""

import os
import subprocess

import pytest
from gi.repository import Gio, GLib
from support.pace import seconds
from support.peer import PROPERTIES, Peer
from support.portal import (
    FRONTEND,
    ONE,
    PORTAL,
    PROGRAM,
    SUCCESS,
    TWO,
    has_request,
    lock_everything,
    retrieve,
    secrets_of,
    session,  # noqa: F401
)
from support.session import wait_until

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]


class Application:
    """A sandboxed application, started as Flatpak starts it. Without an id, the program runs outside any sandbox."""

    def __init__(self, session, name, *arguments):
        command = ["/usr/bin/python3", session.lend(PROGRAM), *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        if not name:
            self.process = session.start(*command, **pipes)
            return
        info = session.root / f"{name}.info"
        info.write_text(f"[Application]\nname={name}\n\n[Instance]\ninstance-id={len(name)}\n")
        info.chmod(0o644)
        sandbox = ["bwrap", "--unshare-pid", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--proc", "/proc"]
        for folder in ("bin", "lib", "lib64"):
            sandbox += ["--symlink", f"usr/{folder}", f"/{folder}"]
        sandbox += ["--dev", "/dev", "--perms", "0755", "--dir", "/tmp", "--bind", session.root, session.root]
        sandbox += ["--ro-bind", info, "/.flatpak-info", "--"]
        if os.getuid() == 0:
            # Root needs no user namespace for the sandbox. The system may forbid user namespaces to others.
            self.process = subprocess.Popen([*sandbox, *session.command_line(*command)], env=session.environment, **pipes)
        else:
            self.process = session.start(*sandbox, *command, **pipes)

    def handle(self):
        """The handle of the request, once the frontend has it."""
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line.strip()

    def answer(self, input=None):
        """The response and the secret."""
        output, errors = self.process.communicate(input, seconds(30))
        assert self.process.returncode == 0, errors
        response, _, secret = output.splitlines()[-1].partition(" ")
        return response, bytes.fromhex(secret)

    def secret(self):
        response, secret = self.answer()
        assert response == str(SUCCESS)
        return secret


@pytest.fixture(scope="module")
def sandboxes():
    """Checks that sandboxes work. The system may forbid sandboxes, but not in CI."""
    done = subprocess.run(["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "true"], capture_output=True, text=True)
    if done.returncode != 0:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no sandboxes: {done.stderr}")
        pytest.skip(f"no sandboxes: {done.stderr}")


@pytest.fixture
def frontend(session, stage, sandboxes):
    """The real xdg-desktop-portal, started before any login. The portal finds the daemon through the installed .portal
    file."""
    portals = stage / "usr/share/xdg-desktop-portal/portals"
    environment = session.environment | {"XDG_DESKTOP_PORTAL_DIR": str(portals), "XDG_CURRENT_DESKTOP": "sway"}
    with open(session.root / "frontend.log", "w") as log:
        process = session.start("/usr/libexec/xdg-desktop-portal", "--verbose", env=environment, stdout=log, stderr=log)
    peer = Peer(session)

    def is_there():
        assert process.poll() is None, (session.root / "frontend.log").read_text()
        try:
            peer.bus.call_sync(
                FRONTEND, PORTAL, PROPERTIES, "Get", GLib.Variant("(ss)", ("org.freedesktop.portal.Secret", "version")),
                None, Gio.DBusCallFlags.NO_AUTO_START, 10_000, None,
            )
        except GLib.Error:
            return False
        return True

    wait_until(is_there, "the frontend", 30)
    yield peer
    peer.close()
    process.terminate()
    process.wait(seconds(10))


def test_sandboxed_applications(session, frontend):
    assert "Using latchkey.portal for org.freedesktop.impl.portal.Secret" in (session.root / "frontend.log").read_text()
    assert session.login().returncode == 0
    one, two = Application(session, ONE).secret(), Application(session, TWO).secret()
    assert len(one) == len(two) == 64
    assert one != two
    # The frontend gave the daemon the applications' own ids.
    assert (retrieve(frontend, ONE), retrieve(frontend, TWO)) == (one, two)

    def check_that_they_are_the_same():
        assert (Application(session, ONE).secret(), Application(session, TWO).secret()) == (one, two)

    check_that_they_are_the_same()
    session.lock()
    check_that_they_are_the_same()
    assert session.locker().returncode == 0
    lock_everything(frontend)
    check_that_they_are_the_same()
    session.restart()
    assert session.login().returncode == 0
    check_that_they_are_the_same()
    assert Application(session, None).secret() not in (one, two)


def test_a_sandboxed_application_waits_for_the_login(session, frontend):
    waiting = Application(session, ONE)
    handle = waiting.handle()
    wait_until(lambda: has_request(frontend, handle), "the request")
    assert session.login().returncode == 0
    secret = waiting.secret()
    assert secret == retrieve(frontend, ONE)
    assert session.logout().returncode == 0
    waiting = Application(session, ONE)
    handle = waiting.handle()
    wait_until(lambda: has_request(frontend, handle), "the request")
    assert session.login().returncode == 0
    assert waiting.secret() == secret


def test_a_sandboxed_application_that_waits_no_longer(session, frontend):
    for end in ("close", "kill"):
        waiting = Application(session, ONE, "close")
        handle = waiting.handle()
        wait_until(lambda: has_request(frontend, handle), "the request")
        if end == "close":
            assert waiting.answer("now\n") == ("closed", b"")
        else:
            # The end of bwrap also ends its application.
            waiting.process.kill()
            waiting.process.wait(seconds(10))
        wait_until(lambda: not has_request(frontend, handle), "the end of the request")
    assert session.login().returncode == 0
    assert secrets_of(frontend, ONE) == []

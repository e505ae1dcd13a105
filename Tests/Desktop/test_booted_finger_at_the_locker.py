"""A finger at the locked screen, from end to end: real fprintd with libfprint's virtual reader, the services as installed, and
the PAM line that `latchkey switch --finger` writes. pamtester plays gdm, which authenticates as root. The session's LockedHint
plays the screen."""

import threading

import pytest
from screen import Display
from support.machine import eventually
from support.virtualreader import LEFT, RIGHT
from test_booted_fingers import reader  # noqa: F401
from test_lockers import running, typed_until

pytestmark = [pytest.mark.night("device"), pytest.mark.second_try]

FILE = "/etc/pam.d/gdm-fingerprint"
# Debian's file without the lines that need gdm.
TEXT = "auth required pam_succeed_if.so user != root quiet_success\nauth required pam_fprintd.so\naccount required pam_permit.so\n"
PLACE = "your finger (?:on|over) the reader"  # the virtual reader asks for a swipe
SECRET = "of the bank"


@pytest.fixture
def line(machine):
    """The locker's file, with the line of the command."""
    machine.path(FILE).write_text(TEXT)
    machine.root("latchkey", "switch", "--to", "latchkey", "--finger")
    yield
    machine.root("latchkey", "switch", "--back", "--finger")
    assert machine.path(FILE).read_text() == TEXT
    machine.path(FILE).unlink()


@pytest.fixture
def desktop(alice, reader, line):
    """A graphical session of a person with an enrolled finger and the finger protector, after a password."""
    reader.enroll(RIGHT)
    with alice.graphical_login(seat="seat0") as session:
        session.store(SECRET, app="bank")
        session.run(f"printf %s '{alice.password}' | latchkey protector add finger --without-tpm --yes --stdin")
        lock(session)
        unlock_by_password(session, alice)
        await_held(session)
        yield session


def await_state(session, state):
    eventually(lambda: session.status()["state"] == state, what=state)


def await_held(session):
    eventually(lambda: session.status()["finger"] == "in-memory", what="the hold")


def lock(session):
    session.set_locked_hint(True)
    await_state(session, "locked")


def screen_opens(session):
    session.set_locked_hint(False)
    await_state(session, "unlocked")
    assert session.secret(app="bank") == SECRET


def unlock_by_password(session, alice):
    assert alice.greeter_unlock()
    screen_opens(session)


def locker(machine):
    return machine.terminal_until_read("pamtester", "gdm-fingerprint", "alice", "authenticate")


def touch(machine, reader, finger=RIGHT):
    """A person touches the reader for the locker, and the locker accepts the finger."""
    waiting = locker(machine)
    waiting.expect(PLACE)
    reader.lay(finger)
    waiting.expect("successfully authenticated")
    waiting.close()


def touch_until_it_ends(machine, reader, finger):
    """Lays a finger on the reader whenever any line of the locker's stack asks."""
    waiting = locker(machine)
    while waiting.expect(["finger (?:on|over|across)", "status [0-9]"]) == 0:
        reader.lay(finger)
    waiting.close()
    return waiting.after


def test_one_touch_opens_screen_and_vault_again_and_again(machine, reader, desktop):
    for _ in range(3):
        lock(desktop)
        touch(machine, reader)
        assert desktop.status()["state"] == "locked", "the screen is still there"
        screen_opens(desktop)


def test_after_five_touches_of_others_the_password_opens(machine, reader, desktop, alice):
    lock(desktop)
    for _ in range(2):
        assert touch_until_it_ends(machine, reader, "a stranger's") != "status 0"
    eventually(lambda: desktop.status()["finger"] == "waits-for-password", what="the end of the hold")
    unlock_by_password(desktop, alice)
    await_held(desktop)
    lock(desktop)
    touch(machine, reader)
    screen_opens(desktop)


def test_the_password_beside_an_awaited_finger(machine, reader, desktop, alice):
    lock(desktop)
    waiting = locker(machine)
    waiting.expect(PLACE)
    unlock_by_password(desktop, alice)
    waiting.close()
    await_held(desktop)
    lock(desktop)
    touch(machine, reader)
    screen_opens(desktop)


def test_fifty_cycles_of_lock_and_touch(machine, reader, desktop):
    for _ in range(50):
        lock(desktop)
        touch(machine, reader)
        screen_opens(desktop)
        await_held(desktop)


def test_twenty_touches_beside_the_password(machine, reader, desktop, alice):
    """The finger comes before, during or after the password. Either one opens, and nothing hangs."""
    for cycle in range(20):
        lock(desktop)
        waiting = locker(machine)
        waiting.expect(PLACE)
        typed = threading.Thread(target=alice.greeter_unlock)
        if cycle % 3 == 0:
            typed.start()
        reader.lay(RIGHT)
        if cycle % 3 == 1:
            typed.start()
        waiting.expect("status [0-9]")
        if cycle % 3 == 2:
            typed.start()
        typed.join()
        waiting.close()
        screen_opens(desktop)
        await_held(desktop)


def test_without_the_protector_fprintd_decides_about_the_screen_alone(machine, reader, desktop, alice):
    desktop.run(f"printf %s '{alice.password}' | latchkey protector remove finger --stdin")
    lock(desktop)
    waiting = locker(machine)
    waiting.expect("fingerprint reader")  # the words of pam_fprintd
    reader.lay(RIGHT)
    waiting.expect("successfully authenticated")
    waiting.close()
    desktop.set_locked_hint(False)
    assert desktop.status()["state"] == "locked"
    assert alice.greeter_unlock()
    await_state(desktop, "unlocked")


def test_a_new_finger_ends_it(machine, reader, desktop):
    lock(desktop)
    reader.enroll(LEFT)
    # The next line of the stack asks, and decides about the screen.
    assert touch_until_it_ends(machine, reader, RIGHT) == "status 0"
    desktop.set_locked_hint(False)
    status = desktop.status()
    assert status["state"] == "locked" and status["finger"] == "waits-for-password"


def touched(reader, is_up):
    """Lays the right finger on the reader, if somebody waits for one. Returns whether the locker has ended."""
    reader.is_read(RIGHT)
    return not is_up()


def test_at_i3lock_a_touch_opens_the_screen_only(machine, reader, desktop, alice):
    """i3lock runs as the person, and asks PAM when somebody presses Enter. The command's line changes nothing there."""
    file = machine.path("/etc/pam.d/i3lock")
    before, (ours,) = file.read_text(), [text for text in machine.path(FILE).read_text().splitlines() if "pam_latchkey" in text]
    file.write_text(f"{ours}\nauth sufficient pam_fprintd.so\n{before}")
    display, is_up, cursor = Display(alice, desktop), running(alice, "i3lock"), machine.cursor()
    try:
        desktop.run("(export DISPLAY=:5; latchkey lock; i3lock) >/dev/null 2>&1 &")
        eventually(is_up, 20, "i3lock")
        typed_until(lambda: touched(reader, is_up), lambda: display.press("Return"), "the end of i3lock")
        assert alice.status()["state"] == "locked"
        assert "released the key" not in machine.journal(cursor, "latchkey-deviced")
    finally:
        file.write_text(before)
        display.close()

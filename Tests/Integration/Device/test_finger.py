"""A finger at the locked screen. A touch brings back the keys that the password gave, and only to the same vault. The
tests show all events that end the hold of the keys.
"""

import os
import pathlib
import signal

import pytest
from support.control import Control, packet
from support.deviced import Service, SoftwareTPM
from support.fingerreader import HOLD, Delay, Holder, Reader, Verification, held
from support.memory import scan
from support.person import Person, ask_on_terminals
from support.reasons import words
from support.session import wait_until
from support.vaultreader import Keybag
from support.wire import MESSAGES

pytestmark = [
    pytest.mark.night("device"), pytest.mark.skipif(os.geteuid() != 0, reason="only root has a finger verified")]


class Locked:
    """A session with a finger reader. The session's screen locks and unlocks."""

    def __init__(self, session, logind, reader, service):
        self.session, self.logind, self.reader, self.service = session, logind, reader, service

    def command(self, *words):
        return self.session.run("latchkey", "protector", *words, "--stdin", input=self.session.password + "\n")

    @property
    def finger(self):
        status = self.session.status()
        return status["finger"], (status.get("finger_problem_code") or {}).get("code", "")

    def is_ready(self):
        return self.finger[0] in ("in-tpm", "in-memory")

    def lock(self):
        self.logind.show_locked(True)
        wait_until(lambda: self.session.status()["state"] == "locked", "the lock")
        assert not self.session.status()["classes"]["when-unlocked"]

    def show(self):
        self.logind.show_locked(False)

    def touch(self):
        """The person touches the reader at the locker."""
        with Verification(self.service.path, self.session.uid) as waiting:
            assert waiting.word() == "place"
            self.reader.touch()
            assert (said := waiting.word()) == "matched", said

    def reads(self):
        """The item's secret, or nothing if a read would wait for a person."""
        return self.session.status()["state"] == "unlocked" and self.session.lookup("k", "v")

    def unlock_by_finger(self):
        self.touch()
        wait_until(lambda: self.session.status()["staged"], "the keys behind the locker")
        assert not self.reads()
        self.show()
        wait_until(lambda: self.reads() == "secret", "the unlock by a finger")

    def kill(self, program):
        """Kills one of the two programs, and starts it again."""
        if program == "latchkeyd":
            self.session.restart(signal.SIGKILL)
        else:
            self.service.stop(signal.SIGKILL)
            begin(self.service, self.reader)

    def found(self, needles):
        """Which of the needles are in the memory of the service or of one of the person's processes."""
        found = set()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if folder.stat().st_uid == self.session.uid or int(folder.name) == self.service.process.pid:
                    found |= set(scan(int(folder.name), needles))
            except (FileNotFoundError, ProcessLookupError):
                continue  # the process has ended meanwhile
        return found

    def type_password(self):
        assert self.session.locker().returncode == 0
        self.show()
        wait_until(lambda: self.reads() == "secret", "the unlock by the password")


@pytest.fixture
def reader():
    started = Reader()
    started.enroll("nobody")
    yield started
    started.close()


def service_for(session, stage, reader, tcti="none"):
    service = Service(tcti=tcti, program=stage / "usr/libexec/latchkey-deviced", path=session.root / "device.sock")
    return begin(service, reader)


def begin(service, reader):
    return service.start(
        "--prints", reader.prints, "--finger-policy", reader.policy, DBUS_SYSTEM_BUS_ADDRESS=reader.address,
        LD_PRELOAD=str(reader.seat))


def prepared(session, logind, reader, service, *options):
    assert session.login().returncode == 0
    session.store("secret", "k", "v")
    world = Locked(session, logind, reader, service)
    assert world.finger == ("not-added", "")
    done = world.command("add", "finger", "--yes", *options)
    assert done.returncode == 0, done.stderr
    assert world.finger == ("waits-for-password", "")
    world.lock()
    world.type_password()
    wait_until(world.is_ready, "the hand-over")
    return world


@pytest.fixture
def world(session, logind, reader, stage):
    service = service_for(session, stage, reader)
    try:
        yield prepared(session, logind, reader, service, "--without-tpm")
    finally:
        service.close()


def test_a_touch_unlocks_again_and_again(world):
    assert "key is in memory" in world.session.run("latchkey", "status").stdout
    for _ in range(3):
        world.lock()
        world.unlock_by_finger()
    assert world.finger == ("in-memory", "")
    assert "a finger, after the password" in world.session.run("latchkey", "protector", "list").stdout


def test_with_a_tpm(session, logind, reader, stage):
    chip = SoftwareTPM()
    service = service_for(session, stage, reader, chip.tcti)
    try:
        world = prepared(session, logind, reader, service)
        assert world.finger == ("in-tpm", "")
        world.lock()
        reader.sleep()
        reader.sleep(False)
        world.unlock_by_finger()
    finally:
        service.close()
        chip.close()


def test_behind_the_lock_no_process_has_a_tier_key_or_the_key_that_covers_it(session, logind, reader, stage):
    """With a TPM, no process has the covering key. The control: without a TPM, the service's memory has the key."""
    chip = SoftwareTPM()
    service = service_for(session, stage, reader, chip.tcti)
    try:
        world = prepared(session, logind, reader, service)
        with Delay(service.path, session.uid, passes=True) as delay:
            world.lock()
            world.type_password()
            _, key = delay.hand_over()
        wait_until(world.is_ready, "the hand-over")
        keys = Keybag((session.vault / "keybag").read_bytes(), session.password).keys
        needles = {key.name: key.value for key in keys if key.tier == "A"} | {"K": key}
        assert len(needles) == 2
        for _ in range(2):
            world.lock()
            assert world.found(needles) == set()
            world.touch()
            wait_until(lambda: session.status()["staged"], "the keys behind the locker")
            assert world.found(needles) == {name for name in needles if name != "K"}, "the control"
            world.show()
            wait_until(lambda: world.reads() == "secret", "the unlock by a finger")
    finally:
        service.close()
        chip.close()


def handed_over(world):
    """Locks the vault, and unlocks it by the password. Returns the packets to the service, and the covering key."""
    with Delay(world.service.path, world.session.uid, passes=True) as delay:
        world.lock()
        world.type_password()
        _, key = delay.hand_over()
    wait_until(world.is_ready, "the hand-over")
    return delay.packets, key


def test_the_covering_key_does_not_cross_the_socket_in_the_clear(world):
    """The kernel frees the buffers of sockets without clearing them."""
    packets, key = handed_over(world)
    assert any(packet[1] == HOLD for packet in packets)
    assert not any(key[:16] in packet or key[16:] in packet for packet in packets)


def test_a_key_without_a_tpm_is_found(world):
    _, key = handed_over(world)
    world.lock()
    assert world.found({"K": key}) == {"K"}


def test_a_touch_while_no_locker_is_up_unlocks_nothing(world):
    world.session.lock()
    world.touch()
    wait_until(lambda: "a finger does not unlock the vault:" in world.session.log(), "the refusal")
    assert world.session.status()["state"] == "locked"
    assert not world.session.status()["staged"]
    assert world.session.run("latchkey", "unlock", "--stdin", input=world.session.password + "\n").returncode == 0


class Asked:
    """A program asks in a session whose vault alone is locked, and its person leaves the field empty."""

    def __init__(self, world):
        self.world = world
        ask_on_terminals(world.session)
        world.session.lock()
        self.person = Person(world.session, "secret-tool", "lookup", "k", "v")
        self.person.expect("Leave the field empty to use your finger.")
        self.choose()

    def choose(self):
        self.person.expect("Enter your login password: ").type("").expect("Touch the fingerprint reader. (Ctrl-C cancels)")
        self.world.reader.wait_for_person()

    def wait_for_release(self):
        self.world.reader.wait(lambda: self.world.reader.calls[-1] == "Release", "the reader is kept")
        assert self.world.reader.claimant is None


def test_a_prompt_after_the_lock_takes_a_finger(world):
    asked = Asked(world)
    assert world.session.status()["state"] == "locked"
    world.reader.touch("verify-no-match")
    asked.person.expect("The finger did not unlock the vault: that finger does not match.")
    asked.choose()
    world.reader.touch()
    assert asked.person.last_line() == "secret" and asked.person.status == 0
    assert world.session.status()["state"] == "unlocked" and world.finger == ("in-memory", "")
    assert "a finger unlocked the vault at a prompt" in world.session.log()
    asked.wait_for_release()
    assert held(world.service, world.session.uid) == ("inMemory", 4, None)
    # The same key serves the locker.
    world.lock()
    world.unlock_by_finger()


def test_the_password_answers_a_prompt_that_waited_for_a_finger(world):
    asked = Asked(world)
    world.reader.touch("verify-no-match")
    asked.person.expect("Enter your login password: ").type(world.session.password)
    assert asked.person.last_line() == "secret"
    asked.wait_for_release()


def test_a_password_elsewhere_ends_a_prompt_that_waits_for_a_finger(world):
    asked = Asked(world)
    done = world.session.run("latchkey", "unlock", "--stdin", input=world.session.password + "\n")
    assert done.returncode == 0 and asked.person.last_line() == "secret"
    asked.wait_for_release()


def test_a_dismissed_prompt_gives_the_reader_back_and_a_later_touch_unlocks_nothing(world):
    asked = Asked(world)
    asked.person.press("c").output()
    asked.wait_for_release()
    world.reader.touch()
    assert world.session.status()["state"] == "locked"


def test_a_locker_takes_the_reader_from_a_prompt(world):
    """Its touch opens the screen and the vault."""
    asked = Asked(world)
    world.logind.show_locked(True)
    wait_until(lambda: world.session.status()["locker_up"], "the locker")
    asked.wait_for_release()
    world.unlock_by_finger()
    assert asked.person.last_line() == "secret"


def test_a_lock_after_the_touch_and_before_latchkeyd_hears_of_it_stays(world):
    asked = Asked(world)
    daemon = world.session.daemon_pid()
    os.kill(daemon, signal.SIGSTOP)
    try:
        world.reader.touch()
        asked.wait_for_release()
        world.logind.show_locked(True)
    finally:
        os.kill(daemon, signal.SIGCONT)
    wait_until(lambda: world.session.status()["locker_up"], "the locker")
    status = world.session.status()
    assert status["state"] == "locked" and not status["staged"]
    world.show()
    assert world.session.status()["state"] == "locked"
    asked.person.press("c").output()


def test_another_program_has_no_finger_verified_for_a_prompt(world):
    """It knows the prompt's number, and shows nothing."""
    ask_on_terminals(world.session)
    world.session.lock()
    person = Person(world.session, "secret-tool", "lookup", "k", "v").expect("Enter your login password: ")
    found = world.session.run("pgrep", "-a", "-U", str(world.session.uid), "-f", f"latchkey-prompt.*{world.session.root}/run")
    number = int(found.stdout.split()[-1])
    stranger = Control(world.session)
    answer = stranger.ask(packet(MESSAGES["TouchReader"], number.to_bytes(8, "little")))
    stranger.close()
    assert answer[1] == 255 and words(answer[2:]) == "refusal.noSuchPrompt"
    assert "VerifyStart any" not in world.reader.calls
    person.press("c").output()


def test_a_lock_during_the_hand_over_leaves_neither_the_key_nor_what_it_opens(world):
    """The service answers slowly, so the lock comes while neither program knows where the key is."""
    world.lock()
    daemon = world.session.daemon_pid()
    with Delay(world.service.path, world.session.uid) as delay:
        world.type_password()
        connection, key = delay.hand_over()
        assert "K" in scan(daemon, {"K": key}), "the control"
        world.lock()
        assert connection.recv(1) == b"", "a late answer finds nobody"
        assert scan(daemon, {"K": key}) == {}
        assert world.finger == ("waits-for-password", "session.lockedMeanwhile")
    world.type_password()
    wait_until(world.is_ready, "the hand-over")


def test_a_locker_that_ends_before_latchkeyd_hears_of_the_touch(world):
    for _ in range(3):
        world.lock()
        daemon = world.session.daemon_pid()
        os.kill(daemon, signal.SIGSTOP)
        try:
            world.touch()
            world.show()
        finally:
            os.kill(daemon, signal.SIGCONT)
        wait_until(lambda: world.reads() == "secret", "the unlock by a finger")


def test_a_locker_that_refuses_after_the_touch_leaves_nothing(world):
    world.lock()
    world.touch()
    wait_until(lambda: world.session.status()["staged"], "the keys behind the locker")
    world.session.lock()
    world.show()
    status = world.session.status()
    assert status["state"] == "locked" and not status["staged"] and not world.reads()


def test_the_removal_of_the_protector_ends_it(world):
    assert world.command("remove", "finger").returncode == 0
    wait_until(lambda: held(world.service, world.session.uid)[0] == "nothing", "the end of the hold")
    assert world.finger == ("not-added", "")


def test_new_keys_are_covered_anew_and_a_finger_brings_these(world):
    before = held(world.service, world.session.uid)
    done = world.session.run("latchkey", "rotate", "--stdin", input=world.session.password + "\n")
    assert done.returncode == 0 and before[0] == "inMemory"
    wait_until(world.is_ready, "the hand-over of new keys")
    world.lock()
    world.unlock_by_finger()


def test_status_names_a_keybag_that_was_replaced_behind_the_lock(world):
    keybag = world.session.vault / "keybag"
    before = keybag.read_bytes()
    assert world.session.run("latchkey", "rotate", "--stdin", input=world.session.password + "\n").returncode == 0
    wait_until(world.is_ready, "the hand-over of new keys")
    world.lock()
    after = keybag.read_bytes()
    keybag.write_bytes(before)
    world.touch()
    wait_until(lambda: world.finger == ("waits-for-password", "device.holdChanged"), "the end of the hold")
    assert not world.session.status()["staged"]
    keybag.write_bytes(after)
    world.type_password()
    wait_until(world.is_ready, "a new hand-over")


@pytest.mark.parametrize("end", ["touches", "prints", "policy", "sleep", "service", "daemon", "stranger"])
def test_every_end(world, end):
    world.lock()
    uid = world.session.uid
    if end == "touches":
        with Verification(world.service.path, uid) as waiting:
            for _ in range(2):
                assert waiting.word() == "place"
                world.reader.touch("verify-no-match")
                assert waiting.word() == "noMatch"
            assert waiting.word() == "place"
            world.reader.touch("verify-no-match")
            assert waiting.word() == "manyTries"
        with Verification(world.service.path, uid) as waiting:
            assert waiting.word() == "place"
            world.reader.touch("verify-no-match")
            assert waiting.word() == "noMatch" and waiting.word() == "place"
            world.reader.touch("verify-no-match")
            assert waiting.word() == "manyTries"
        code = "device.holdTouches"
    elif end == "prints":
        world.reader.enroll("nobody", "8")
        with Verification(world.service.path, uid) as waiting:
            assert waiting.word() == ("notHeld", "otherPrints")
        code = "device.holdPrints"
    elif end == "policy":
        world.reader.policy.write_text("off\n")
        with Verification(world.service.path, uid) as waiting:
            assert waiting.word() == ("notHeld", "forbidden")
        code = "device.fingerForbidden"
    elif end == "sleep":
        world.reader.sleep()
        code = "device.holdSlept"
    elif end == "service":
        world.service.stop(signal.SIGKILL)
        begin(world.service, world.reader)
        code = "device.holdDropped"
    elif end == "daemon":
        world.session.restart(signal.SIGKILL)
        code = ""
    elif end == "stranger":
        # Another program of the user hands over its own key, and gets only that key back. The vault keeps waiting.
        with Holder(world.service.path, uid) as other, Verification(world.service.path, uid) as waiting:
            assert waiting.word() == "place"
            world.reader.touch()
            assert waiting.word() == "matched" and other.news() == other.key
            assert not world.session.status()["staged"]
        code = "device.holdReplaced"
    wait_until(lambda: held(world.service, uid)[0] == "nothing", "the end of the hold")
    wait_until(lambda: world.finger == ("waits-for-password", code), f"the reason {code}")
    with Verification(world.service.path, uid) as waiting:
        assert "notHeld" in waiting.word()
    assert not world.session.status()["staged"]
    if end == "daemon":
        assert world.session.login().returncode == 0
        world.show()
    else:
        world.type_password()
    if end not in ("policy", "prints"):
        wait_until(world.is_ready, "a new hand-over")


@pytest.mark.parametrize("program", ["latchkeyd", "latchkey-deviced"])
@pytest.mark.parametrize("step", ["handed over", "locked", "awaited", "touched", "staged"])
def test_the_end_of_either_program_at_each_step(world, step, program):
    """After the kill, the vault is either locked or unlocked. The next password starts a new hold."""
    uid = world.session.uid
    world.lock()
    if step == "handed over":
        world.type_password()
        world.kill(program)
    elif step == "locked":
        world.kill(program)
    elif step == "awaited":
        with Verification(world.service.path, uid) as waiting:
            assert waiting.word() == "place"
            world.kill(program)
            assert waiting.word() == (("notHeld", "dropped") if program == "latchkeyd" else "closed")
    else:
        world.touch()
        if step == "staged":
            wait_until(lambda: world.session.status()["staged"], "the keys behind the locker")
        world.kill(program)
    world.show()
    wait_until(lambda: not world.session.status()["staged"], "the end of the keys that waited")
    state = world.session.status()["state"]
    if program == "latchkeyd":
        assert state == "sealed" and held(world.service, uid)[0] == "nothing"
        assert world.session.login().returncode == 0
    else:
        isOpen = step in ("handed over", "staged") or step == "touched" and state == "unlocked"
        assert state == ("unlocked" if isOpen else "locked") and bool(world.reads()) == isOpen
    world.lock() if world.session.status()["state"] == "unlocked" else world.logind.show_locked(True)
    world.type_password()
    wait_until(world.is_ready, "a new hand-over")
    world.lock()
    world.unlock_by_finger()


def test_many_cycles_of_lock_and_touch_beside_a_password(world):
    for cycle in range(50):
        world.lock()
        if cycle % 5:
            world.unlock_by_finger()
        else:
            with Verification(world.service.path, world.session.uid) as waiting:
                assert waiting.word() == "place"
                world.type_password()
                # The hold of the new password replaces the hold for which the finger was asked.
                assert waiting.word() in (("notHeld", "replaced"), ("notHeld", "dropped"))
            wait_until(world.is_ready, "the hand-over")

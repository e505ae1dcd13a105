"""latchkey-deviced holds covering keys, lets fprintd verify a finger, and returns a key only to its holder."""

import contextlib
import os
import signal

import pytest
from gi.repository import GLib
from support.deviced import NOBODY, REFUSED, Peer, Service, outcome, tpm  # noqa: F401
from support.fingerreader import DROP, HELD, LEAVE, TOUCH, VERIFY, Holder, Reader, Verification, held
from support.pace import seconds

pytestmark = [
    pytest.mark.night("device"), pytest.mark.skipif(os.geteuid() != 0, reason="only root has a finger verified")]
ROOT = 0


@pytest.fixture
def reader():
    started = Reader()
    started.enroll()
    yield started
    started.close()


def begin(service, reader, **environment):
    return service.start(
        "--prints", reader.prints, "--finger-policy", reader.policy, DBUS_SYSTEM_BUS_ADDRESS=reader.address, **environment)


@pytest.fixture
def at_seat(reader):
    """The service, for which every user is in front of the machine."""
    started = begin(Service(), reader, LD_PRELOAD=str(reader.seat))
    yield started
    started.close()


@pytest.fixture
def service(reader):
    started = begin(Service(), reader)
    yield started
    started.close()


def test_touch_gives_the_holder_its_key_as_often_as_it_is_asked(service, reader):
    with Holder(service.path) as holder:
        assert held(service, ROOT) == ("inMemory", 5, None)
        for _ in range(2):
            with Verification(service.path, ROOT) as waiting:
                assert waiting.word() == "place" and held(service, ROOT)[0] == "verifying"
                reader.touch()
                assert waiting.word() == "matched" and waiting.word() == "closed"
            assert holder.news() == holder.key
        assert reader.claimant is None and "Claim root" in reader.calls
        assert holder.ask(DROP) == b"" and held(service, ROOT) == ("nothing", 0, "dropped")


def test_nobody_else_waits_for_a_touch_and_one_finger_is_awaited_at_a_time(service, reader):
    with Holder(service.path), Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
        with Peer(service.path) as other:
            assert other.identity()
        with Verification(service.path, ROOT) as second:
            assert second.word() == "refused"
        reader.touch()
        assert waiting.word() == "matched"


def test_only_root_verifies_and_others_ask_about_themselves(service, reader):
    with Holder(service.path), Peer(service.path, NOBODY) as other:
        for operation in (VERIFY, HELD):
            assert outcome(other.ask, operation, bytes(4)) == REFUSED
        assert other.ask(HELD, NOBODY.to_bytes(4, "little"))[0] == 0
        assert outcome(other.ask, DROP) == REFUSED
        assert held(service, ROOT)[0] == "inMemory"


def test_key_of_another_user_is_not_released(service, reader):
    reader.enroll("daemon")
    with Holder(service.path) as holder, Holder(service.path, 1) as other, Verification(service.path, 1) as waiting:
        assert waiting.word() == "place"
        reader.touch()
        assert waiting.word() == "matched" and other.news() == other.key and holder.hears_nothing()
        assert "Claim daemon" in reader.calls


def test_stranger_on_the_bus_neither_matches_nor_puts_to_sleep(service, reader):
    stranger = reader.connect()
    with Holder(service.path) as holder, Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
        for number in range(12):
            for path, interface, member, value in (
                    ("/net/reactivated/Fprint/Device/0", "net.reactivated.Fprint.Device", "VerifyStatus", ("(sb)", ("verify-match", True))),
                    ("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", ("(b)", (True,)))):
                stranger.emit_signal(f":1.{number}", path, interface, member, GLib.Variant(*value))
        stranger.flush_sync(None)
        reader.touch("verify-retry-scan", isDone=False)
        assert waiting.word() == "again" and holder.hears_nothing()
        assert held(service, ROOT)[0] == "verifying"


def test_five_fingers_that_do_not_match_end_it(service, reader):
    with Holder(service.path) as holder:
        with Verification(service.path, ROOT) as waiting:
            for _ in range(2):
                assert waiting.word() == "place"
                reader.touch("verify-no-match")
                assert waiting.word() == "noMatch"
            assert waiting.word() == "place"
            reader.touch("verify-no-match")
            assert waiting.word() == "manyTries" and waiting.word() == "closed"
        assert held(service, ROOT) == ("inMemory", 2, None)
        with Verification(service.path, ROOT) as waiting:
            assert waiting.word() == "place"
            reader.touch("verify-no-match")
            assert waiting.word() == "noMatch" and waiting.word() == "place"
            reader.touch("verify-no-match")
            assert waiting.word() == "manyTries"
        assert holder.news() == "manyTouches" and holder.news() == "closed"
    assert held(service, ROOT) == ("nothing", 0, "manyTouches")


@pytest.mark.parametrize("moment", ["before", "during"])
def test_other_prints_end_it(service, reader, moment):
    with Holder(service.path) as holder:
        if moment == "before":
            reader.enroll(content=b"other")
        with Verification(service.path, ROOT) as waiting:
            if moment == "during":
                assert waiting.word() == "place"
                reader.enroll(finger="8")
                reader.touch()
            assert waiting.word() == ("notHeld", "otherPrints")
        assert holder.news() == "otherPrints" and holder.news() == "closed"


def test_policy_takes_no_key_and_ends_what_is_held(service, reader):
    with Holder(service.path) as holder:
        reader.policy.write_text("# not here\noff\n")
        with Verification(service.path, ROOT) as waiting:
            assert waiting.word() == ("notHeld", "forbidden")
        assert holder.news() == "forbidden"
        with pytest.raises(Exception) as refused:
            Holder(service.path)
        assert "fingerForbidden" in str(refused.value)
    reader.policy.write_text("on\n")
    with Holder(service.path):
        assert held(service, ROOT)[0] == "inMemory"


def test_sleep_ends_a_key_in_memory_and_gives_the_reader_up(service, reader):
    with Holder(service.path) as holder, Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
        reader.sleep()
        assert waiting.word() in ("givenUp", ("notHeld", "slept"))
        assert holder.news() == "slept"
        reader.wait(lambda: reader.calls[-1] == "Release", "the reader is kept")
    assert held(service, ROOT) == ("nothing", 0, "slept")


def test_sleep_waits_until_the_reader_is_back(service, reader):
    reader.pause = 1
    for _ in range(2):
        with Holder(service.path) as holder, Verification(service.path, ROOT) as waiting:
            assert waiting.word() == "place"
            reader.sleep()
            assert reader.claimant is None and holder.news() == "slept"
            reader.sleep(False)


def test_keys_that_come_too_often_are_refused_and_others_are_not(service, reader):
    reader.enroll("daemon")
    reader.enroll("nobody")
    with pytest.raises(Exception) as refused:
        for _ in range(60):
            Holder(service.path, 1).close()
    assert "manyHolds" in str(refused.value) and held(service, 1)[0] == "nothing"
    with Holder(service.path, NOBODY) as other:
        assert held(service, NOBODY)[0] == "inMemory" and other.hears_nothing()


def test_the_journal_says_that_a_chip_did_not_take_the_key(reader, tpm):
    service = begin(Service(tcti=tpm.tcti), reader)
    try:
        tpm.stop()
        with Holder(service.path):
            assert held(service, ROOT)[0] == "inMemory"
        assert "user 0 releases is in memory, because of the TPM: " in service.journal()
    finally:
        service.close()


def test_end_of_the_holder_or_of_a_waiting_connection(service, reader):
    with Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "notHeld"
    holder = Holder(service.path)
    with Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
    reader.wait(lambda: reader.calls[-1] == "Release", "the reader is kept after the end of the connection")
    assert held(service, ROOT)[0] == "inMemory"
    with Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
        holder.close()
        assert waiting.word() == ("notHeld", "dropped") and waiting.word() == "closed"
    assert held(service, ROOT) == ("nothing", 0, "dropped")


def test_newer_key_ends_the_older_one_also_during_a_verification(service, reader):
    with Holder(service.path) as older, Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
        with Holder(service.path) as newer:
            assert older.news() == "replaced" and older.news() == "closed"
            assert waiting.word() == ("notHeld", "replaced")
            reader.touch()
            assert held(service, ROOT)[0] == "inMemory"
            # After the touch, the reader is free for the next verification.
            with Verification(service.path, ROOT) as later:
                assert later.word() == "place" and newer.hears_nothing()


def test_no_key_without_a_tpm_unless_memory_is_allowed_and_none_without_prints(service, reader):
    with pytest.raises(Exception) as refused:
        Holder(service.path, memory=False)
    assert "noTPM" in str(refused.value)
    with pytest.raises(Exception) as refused:
        Holder(service.path, 1)
    assert "noPrints" in str(refused.value)


def test_key_in_the_tpm_outlives_sleep(reader, tpm):
    service = begin(Service(tcti=tpm.tcti), reader)
    try:
        with Holder(service.path, memory=False) as holder:
            assert held(service, ROOT) == ("inTPM", 5, None)
            reader.sleep()
            with Verification(service.path, ROOT) as waiting:
                assert waiting.word() == "place"
                reader.touch()
                assert waiting.word() == "matched" and holder.news() == holder.key
    finally:
        service.close()


def test_killed_service_ends_the_hold(service, reader):
    with Holder(service.path) as holder, Verification(service.path, ROOT) as waiting:
        assert waiting.word() == "place"
        service.stop(signal.SIGKILL)
        assert waiting.word() == "closed" and holder.news() == "closed"
    begin(service, reader)
    assert held(service, ROOT) == ("nothing", 0, None)


def test_service_that_holds_a_key_does_not_end_for_idleness(reader):
    service = Service()
    service.path = service.root / "device.sock"
    begin(service, reader)
    try:
        service.restart(
            "--prints", reader.prints, "--finger-policy", reader.policy, "--idle", "1",
            DBUS_SYSTEM_BUS_ADDRESS=reader.address)
        with Holder(service.path) as holder:
            with pytest.raises(TimeoutError):
                holder.socket.settimeout(7)
                holder.news()
            holder.socket.settimeout(seconds(30))
            with Verification(service.path, ROOT) as waiting:
                assert waiting.word() == "place"
                reader.touch()
                assert waiting.word() == "matched" and holder.news() == holder.key
        service.process.wait(seconds(30))
    finally:
        service.close()


# For a prompt, which the holder itself shows.


def test_holder_has_a_finger_verified_for_its_own_key(at_seat, reader):
    with Holder(at_seat.path) as holder:
        for number in (1, 2):
            assert holder.touch(number) == "place" and held(at_seat, ROOT)[0] == "inMemory"
            reader.wait_for_person()
            reader.touch()
            assert holder.word(number) == holder.key
        assert reader.claimant is None
        assert holder.touch() == "place" and holder.touch() == "noReader"


def test_fingers_of_prompts_and_lockers_count_together(at_seat, reader):
    with Holder(at_seat.path) as holder:
        for left in (4, 3):
            assert holder.touch() == "place"
            reader.wait_for_person()
            reader.touch("verify-no-match")
            assert holder.word() == "noMatch" and held(at_seat, ROOT) == ("inMemory", left, None)
        with Verification(at_seat.path, ROOT) as waiting:
            for _ in range(3):
                assert waiting.word() == "place"
                reader.touch("verify-no-match")
                assert waiting.word() in ("noMatch", "manyTries")
        assert holder.news() == "manyTouches" and holder.news() == "closed"


def test_finger_counts_although_its_prompt_ends_before_the_reader_is_back(at_seat, reader):
    reader.pause = 1
    with Holder(at_seat.path) as holder:
        assert holder.touch(1) == "place"
        reader.wait_for_person()
        reader.touch("verify-no-match")
        reader.wait(lambda: "VerifyStop" in reader.calls, "the finger is not refused")
        assert holder.touch(1, LEAVE) == "givenUp"
        reader.wait(lambda: reader.calls[-1] == "Release", "the reader is kept")
        assert holder.touch(2) == "place" and held(at_seat, ROOT)[:2] == ("inMemory", 4)


def test_nobody_else_has_a_finger_verified_and_nobody_from_elsewhere(service, reader):
    with Holder(service.path) as holder, Peer(service.path) as other:
        for operation in (TOUCH, LEAVE):
            assert outcome(other.ask, operation, bytes(4)) == REFUSED
        assert holder.touch() == "away"
        assert "Claim root" not in reader.calls and held(service, ROOT)[0] == "inMemory"


@contextlib.contextmanager
def awaiting_finger(service, reader, is_waiting):
    """A holder whose prompt waits for a finger: at the reader, or until fprintd has released the reader for it."""
    reader.pause = is_waiting
    with Holder(service.path) as holder:
        assert holder.touch(1) == "place"
        reader.wait_for_person()
        if is_waiting:
            assert holder.touch(1, LEAVE) == "givenUp" and holder.touch(2) == "place"
        yield holder


@pytest.mark.parametrize("is_waiting", [False, True], ids=["at the reader", "in front of it"])
def test_person_who_leaves_the_seat_gives_the_reader_back(at_seat, reader, is_waiting):
    with awaiting_finger(at_seat, reader, is_waiting) as holder:
        reader.leave_seat()
        assert holder.word(1 + is_waiting) == "away"
        reader.wait(lambda: reader.calls[-1] == "Release", "the reader is kept")
        assert reader.claimant is None and held(at_seat, ROOT) == ("inMemory", 5, None)
        assert holder.touch(3) == "away" and reader.calls.count("Claim root") == 1
        reader.take_seat()
        assert holder.touch(4) == "place"


def test_locker_keeps_the_reader_although_nobody_is_at_the_seat(at_seat, reader):
    """A greeter in front of the session asks for the finger."""
    with Holder(at_seat.path) as holder, Verification(at_seat.path, ROOT) as waiting:
        assert waiting.word() == "place"
        reader.leave_seat()
        reader.touch()
        assert waiting.word() == "matched" and holder.news() == holder.key


def test_prompt_that_ends_gives_the_reader_back(at_seat, reader):
    reader.pause = 1
    with Holder(at_seat.path) as holder:
        assert holder.touch(1) == "place"
        reader.wait_for_person()
        assert holder.touch(1, LEAVE) == "givenUp"
        # The next one waits for the reader.
        assert holder.touch(2) == "place"
        reader.wait(lambda: reader.calls.count("VerifyStart any") == 2, "nobody waits for a finger")
        reader.touch()
        assert holder.word(2) == holder.key and reader.calls.count("Claim root") == 2
        assert holder.touch(3) == "place"
    reader.wait(lambda: reader.calls[-1] == "Release", "the reader is kept after the end of the holder")


def test_locker_takes_the_reader_from_a_prompt(at_seat, reader):
    reader.pause = 1
    with Holder(at_seat.path) as holder:
        assert holder.touch() == "place"
        reader.wait_for_person()
        with Verification(at_seat.path, ROOT) as waiting:
            assert holder.word() == "givenUp" and waiting.word() == "place"
            assert held(at_seat, ROOT)[0] == "verifying" and holder.touch(2) == "noReader"
            reader.touch()
            assert waiting.word() == "matched" and holder.news() == holder.key


@pytest.mark.parametrize("is_waiting", [False, True], ids=["at the reader", "in front of it"])
def test_sleep_gives_up_the_reader_of_a_prompt(at_seat, reader, is_waiting):
    with awaiting_finger(at_seat, reader, is_waiting) as holder:
        reader.sleep()
        assert reader.claimant is None
        heard = [holder.socket.recv(4096)[2:] for _ in range(2)]
        assert bytes([19, 6]) in heard, heard

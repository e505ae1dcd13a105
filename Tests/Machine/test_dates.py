"""A machine whose clock is years off, as after its battery died. Nothing in a vault depends on the date."""

import datetime
import json

import pytest
from conftest import running
from qemu import eventually
from sight import add_items, lock, log_in_and_unlock, status, unlock

PASSWORD = "sesame-1"
LONG_AGO = "2001-01-01T12:00:00"
# After the last second that fits into 32 bits.
FAR_AHEAD = "2039-01-01T12:00:00"


class Clock:
    """The clock of a machine, and a check of times that a program shows."""

    def __init__(self, machine):
        self._machine = machine

    def set(self, date):
        """Sets the clock. systemd changes a clock that shows a day before systemd was built, so a machine does not keep the
        time of its switch-on."""
        self._machine.root.run(f"date -u -s {date}")

    @staticmethod
    def is_on(seconds, date):
        """Whether this moment, in seconds since 1970, is within a day after that date."""
        return 0 <= seconds - datetime.datetime.fromisoformat(f"{date}+00:00").timestamp() < 86400


def shown(console, command):
    return json.loads(console.run(f"{command} --json").stdout)


def make_generation(console):
    """Makes a generation. For a moment after the unlock, the vault is busy."""
    eventually(lambda: console.run("latchkey history make", check=False).returncode == 0, what="a generation")


def read_after_the_password(console):
    """Reads an item that requires the person, which the access log records."""
    console.start("latchkey get --show name=bank")
    console.answer("assword.*: ", PASSWORD)
    assert console.finish().stdout.endswith("of the bank\n")


def assert_whole(console, secrets, epoch):
    """The vault has everything, and nothing wrong to report."""
    assert {name: console.run(f"latchkey get --show name={name}").stdout for name in secrets} == secrets
    said = status(console)
    assert (said["state"], said["problems"], said["older_files"]) == ("unlocked", [], []), said
    assert said["rotation"]["epoch"] == epoch, said


@pytest.mark.parametrize("dates", [(LONG_AGO, FAR_AHEAD), (FAR_AHEAD, LONG_AGO)], ids=["2001", "2039"])
def test_a_vault_of_one_date_opens_at_the_other(dates):
    """The vault is created, locked, opened and rotated at one date, and used at the other, because somebody set the clock."""
    date, other = dates
    with running(date=date) as machine:
        console, clock = machine.console, Clock(machine)
        clock.set(date)
        log_in_and_unlock(console, PASSWORD)
        add_items(console)
        console.run("echo of the bank | latchkey add --label bank --require user-presence name=bank")
        lock(machine)
        unlock(console, PASSWORD)
        items = shown(console, "latchkey find")
        assert len(items) == 3 and all(clock.is_on(item["created"], date) for item in items), items
        secrets = {name: console.run(f"latchkey get --show name={name}").stdout for name in "AC"}
        read_after_the_password(console)
        console.run(f"echo {PASSWORD} | latchkey rotate --stdin")
        console.logout()

        log_in_and_unlock(console, PASSWORD)
        make_generation(console)
        assert_whole(console, secrets, epoch=2)
        (generation,) = shown(console, "latchkey history list")["generations"]
        assert clock.is_on(generation["time"], date) and generation["problem"] is None, generation
        console.logout()

        clock.set(other)
        log_in_and_unlock(console, PASSWORD)
        assert_whole(console, secrets, epoch=2)
        read_after_the_password(console)
        entries = shown(console, "latchkey log")
        assert [entry["outcome"] for entry in entries] == ["granted", "used"] * 2, entries
        assert [clock.is_on(entry["time"], date) for entry in entries] == [True, True, False, False], entries
        assert all(clock.is_on(entry["time"], other) for entry in entries[2:]), entries
        if other < date:
            # A generation from the future is not old, so it brings the deleted item back. In the other direction, the generation
            # is older than 31 days, and may be gone.
            console.run("latchkey rm name=A")
            console.run(f"latchkey history restore {generation['number']} name=A")
        console.run(f"echo {PASSWORD} | latchkey rotate --stdin")
        lock(machine)
        unlock(console, PASSWORD)
        assert_whole(console, secrets, epoch=3)
        console.logout()

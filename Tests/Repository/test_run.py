"""Whatever happens to a part of the run, its end names the failure and the reason."""

import pytest
from support import secondtries
from support.parts import Part
from support.schedule import Schedule


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs a file of Tests/RunSamples. Returns the exit status and the lines of the report."""
    monkeypatch.setattr("support.partrun.FOLDER", tmp_path)
    monkeypatch.setattr(secondtries, "NOTES", tmp_path / "second-tries.txt")
    monkeypatch.setenv("LATCHKEY_STAGE", str(tmp_path))
    monkeypatch.setenv("LATCHKEY_SAMPLE", str(tmp_path / "tried"))
    # The report names the samples in their own order, whatever the order of this run.
    monkeypatch.delenv("LATCHKEY_ORDER", raising=False)
    secondtries.NOTES.touch()

    def run(name, workers=1, **options):
        part = Part(name, "a sample", (f"RunSamples/{name}.py",), 1, workers=workers, in_root=False)
        status = Schedule([part], **options).run()
        return status, capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize("workers", [1, 2])
def test_each_failure_is_named_with_its_reason(run, workers):
    status, lines = run("failing", workers)
    assert status == 1
    assert lines[-1] == "2 passed, 3 failed, 1 skipped" or lines[-1] == "1 passed, 3 failed, 1 skipped"
    last = "\n".join(lines[-6:])
    assert "failed: RunSamples/failing.py::test_with_an_assertion: AssertionError: the sum is wrong" in last
    assert "failed: RunSamples/failing.py::test_whose_fixture_fails: OSError: no such container" in last
    assert "failed: RunSamples/failing.py::test_that_cannot_be_cleaned_up: OSError: the container does not end" in last
    assert "left out, 1 times: Skipped: needs a screen" in "\n".join(lines)
    text = "\n".join(lines)
    assert "(could not be had: no answer within" in text and "(could not be had: Failed: no screen)" in text


def test_a_part_that_dies_names_what_was_under_way(run):
    status, lines = run("dying")
    assert status == 1
    assert "failed: part dying: ended with signal 9 after 1 tests; under way: RunSamples/dying.py::test_that_kills_everything" in lines[-2]
    assert lines[-1] == "1 passed, 1 failed"


def test_a_worker_that_dies_is_a_failed_test(run):
    status, lines = run("dying", workers=2)
    assert status == 1 and any("test_that_kills_everything" in line for line in lines[-4:])


def test_an_error_of_pytest_itself_is_told(run):
    status, lines = run("internal")
    assert status == 1 and lines[-2].startswith("failed: part internal: ended with status 3")


def test_a_file_that_cannot_be_read_is_told(run):
    status, lines = run("unreadable")
    assert status == 1 and any("failed: RunSamples/unreadable.py: ModuleNotFoundError" in line or "no_such_module_at_all" in line for line in lines[-4:])


def test_a_second_try_is_told_and_kept_and_only_for_other_programs(run):
    status, lines = run("second", second_tries=True)
    assert status == 1 and "passed on the second try: RunSamples/second.py::test_of_another_program" in lines
    assert lines[-2].startswith("failed: RunSamples/second.py::test_of_a_key: AssertionError: the key was still there")
    assert lines[-1] == "1 passed, 1 failed"
    assert secondtries.NOTES.read_text().endswith(" RunSamples/second.py::test_of_another_program\n")


def test_the_same_test_gets_no_other_second_try(run, tmp_path):
    run("second", second_tries=True)
    (tmp_path / "tried").unlink()
    status, lines = run("second", second_tries=True)
    assert status == 1 and lines[-1] == "1 passed, 1 failed"
    assert any(line.startswith("no second try for RunSamples/second.py::test_of_another_program") for line in lines)


def test_without_second_tries_a_failure_stays_one(run):
    status, lines = run("second")
    assert status == 1 and lines[-1] == "0 passed, 2 failed"


def test_too_many_second_tries_are_none(run, monkeypatch):
    monkeypatch.setattr(secondtries, "MOST", 0)
    status, lines = run("second", second_tries=True)
    assert status == 1 and "no second tries: 1 tests would need one, and 0 is the most" in lines


SWIFT = r"""#!/usr/bin/python3
import json, sys
with open(sys.argv[sys.argv.index("--event-stream-output-path") + 1], "w") as record:
    def line(of, **payload):
        print(json.dumps({"version": 0, "kind": of, "payload": payload}), file=record)
    def event(kind, name, symbol="default", text="", **payload):
        line("event", kind=kind, testID=f"Some.{name}/File.swift:1:2", messages=[{"symbol": symbol, "text": text}], **payload)
    for name in ("passes()", "fails()", "traps()", "rests()"):
        line("test", kind="function", id=f"Some.{name}/File.swift:1:2", name=name)
    event("testSkipped", "rests()", "skip", 'Test rests() skipped: "needs root"')
    for name in ("passes()", "fails()", "traps()"):
        event("testStarted", name)
    print("a line of a test without an end ✔ Test passes() passed after 0.1 seconds.")
    event("testEnded", "passes()", "pass")
    event("issueRecorded", "fails()", "fail", "Expectation failed: 1 == 2", issue={"isKnown": False})
    event("testEnded", "fails()", "fail")
    if "traps" not in sys.argv:
        event("testEnded", "traps()", "pass")
sys.exit(1)
"""


@pytest.mark.parametrize("traps", [False, True])
def test_swift_testing_is_read_from_its_record_and_not_from_what_is_printed(capsys, monkeypatch, tmp_path, traps):
    (tmp_path / "swift").write_text(SWIFT)
    (tmp_path / "swift").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("LATCHKEY_STAGE", str(tmp_path))
    monkeypatch.setattr("support.partrun.FOLDER", tmp_path)
    command = ("swift", "test", *(["traps"] if traps else []))
    status = Schedule([Part("unit", "a sample", (), 1, in_root=False, command=command)]).run()
    lines = capsys.readouterr().out.splitlines()
    assert status == 1 and "failed: Some.fails(): Expectation failed: 1 == 2" in "\n".join(lines)
    assert "left out, 1 times: Skipped: needs root" in lines
    if traps:
        assert any("failed: part unit: ended with status 1 after 3 tests; under way: Some.traps()" in line for line in lines)
        assert lines[-1] == "1 passed, 2 failed, 1 skipped"
    else:
        assert lines[-1] == "2 passed, 1 failed, 1 skipped"

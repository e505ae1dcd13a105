"""Every parser under libFuzzer, which prefers inputs that reach new code. See Tests/Fuzz/Targets."""

import subprocess

import pytest
from conftest import REPOSITORY, SECONDS

# Shares of the time. The last three targets open a whole vault for each input. The last one repairs trees with many
# rows, which takes longer.
SHARES = {
    "keybag": 0.05,
    "recovery-code": 0.02,
    "device-key": 0.03,
    "device-request": 0.02,
    "control-request": 0.04,
    "control-reply": 0.04,
    "derive-request": 0.03,
    "object-path": 0.03,
    "control-attributes": 0.03,
    "access-control": 0.02,
    "metadata": 0.04,
    "access-log-entry": 0.02,
    "unit-name": 0.02,
    "backup": 0.05,
    "foreign-file": 0.04,
    "ssh-message": 0.04,
    "wallet-value": 0.03,
    "database": 0.05,
    "rows": 0.1,
    "hostile": 0.1,
}
PROGRAM = REPOSITORY / ".build/fuzz/release/latchkey-fuzz"


@pytest.fixture(scope="module")
def program():
    done = subprocess.run(["make", "fuzz-build"], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return PROGRAM


def test_every_target_has_its_share(program):
    assert subprocess.run([program], capture_output=True, text=True).stdout.split() == list(SHARES)


@pytest.mark.parametrize("target", SHARES)
def test_parser(program, findings, tmp_path, target):
    subprocess.run([program, target, "--seeds", tmp_path], check=True, timeout=60)
    seconds = max(1, round(SECONDS * SHARES[target]))
    command = [
        program, target, tmp_path, f"-max_total_time={seconds}", "-len_control=0", "-max_len=4096", f"-timeout={100 if target == 'hostile' else 20}",
        f"-artifact_prefix={findings}/{target}-",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds + 120)
    lines = done.stderr.splitlines()
    print(target, *[line for line in lines if "DONE" in line])
    told = "\n".join(line for line in lines if "Fatal error" in line or "Test unit written" in line)
    assert done.returncode == 0, f"{told}\nreplay: {program} {target} FILE"
    # A target that ends so early has not done its work.
    assert any("DONE" in line for line in lines)

"""`latchkey run`: the secrets that a command gets, its exit status, and the files of projects."""

import os
import pathlib
import signal
import subprocess

import pexpect
import pytest
from support.pace import seconds
from support.person import ask_on_terminals
from support.session import wait_until
from support.tmux import Tmux


def test_a_command_gets_secrets_and_ends_as_itself(unlocked):
    unlocked.store("to ken", "service", "github", "user", "me")
    unlocked.store("line\nline", "service", "deploy")
    show = "printf '%s|' \"$TOKEN\"; cat \"$KEY\"; printf '|%s' \"$KEY\"; stat -c '|%a' \"$KEY\"; exit 7"
    done = unlocked.run(
        "latchkey", "run", "--env", "TOKEN=service=github,user=me", "--file", "KEY=service=deploy", "--", "sh", "-c", show)
    token, content, path, mode = done.stdout.split("|")
    assert (done.returncode, token, content, mode) == (7, "to ken", "line\nline", "600\n"), done.stderr
    assert path.startswith(str(unlocked.runtime)) and not list(unlocked.runtime.glob("latchkey-run-*"))
    # Without secret files, latchkey replaces itself with the command.
    done = unlocked.run("latchkey", "run", "--env", "TOKEN=service=github", "--", "sh", "-c", 'printf %s "$TOKEN"; exit 3')
    assert (done.returncode, done.stdout) == (3, "to ken")
    assert unlocked.run("latchkey", "run", "--env", "X=service=none", "--", "true").returncode == 2
    assert unlocked.run("latchkey", "run", "--env", "X=service=deploy", "--", "/nowhere").returncode == 1
    unlocked.lock()
    locked = unlocked.run("latchkey", "run", "--no-prompt", "--env", "TOKEN=service=github", "--", "true")
    assert locked.returncode == 1 and "latchkey unlock" in locked.stderr


@pytest.mark.night("ssh")
def test_one_prompt_unlocks_all_and_names_the_command(unlocked):
    ask_on_terminals(unlocked)
    unlocked.store("first", "service", "github")
    unlocked.store("second", "service", "deploy")
    unlocked.lock()
    terminal = Tmux(unlocked)
    try:
        terminal.run("latchkey run --env A=service=github --env B=service=deploy -- sh -c 'echo got $A $B'")
        terminal.expect('It says: "for the', "'sh -c echo got", "login password:").type(unlocked.password)
        terminal.expect("got first second").wait_for_shell()
    finally:
        terminal.close()


@pytest.mark.night("ssh")
def test_a_signal_reaches_the_command(unlocked):
    unlocked.store("secret", "service", "deploy")
    ready, done = unlocked.home / "ready", unlocked.home / "done"
    script = f"trap 'echo >{done}; exit 5' USR1; echo >{ready}; while :; do sleep 0.05; done"
    process = unlocked.start("latchkey", "run", "--file", "KEY=service=deploy", "--", "sh", "-c", script)
    wait_until(ready.exists, "the command")
    process.send_signal(signal.SIGUSR1)
    assert process.wait(seconds(10)) == 5 and done.exists()
    process = unlocked.start("latchkey", "run", "--file", "KEY=service=deploy", "--", "sh", "-c", "kill -TERM $$")
    assert process.wait(seconds(10)) == -signal.SIGTERM
    assert not list(unlocked.runtime.glob("latchkey-run-*"))


@pytest.mark.night("ssh")
def test_a_file_of_a_project_is_allowed_by_its_text_and_place(unlocked):
    unlocked.store("token", "service", "github")
    project = unlocked.home / "project"
    unlocked.run("mkdir", project, check=True)
    text = "env:\n  TOKEN:\n    service: github\n"
    unlocked.run("tee", project / ".latchkey.yaml", input=text, check=True)
    command = ["latchkey", "run", "--", "sh", "-c", "echo got $TOKEN"]
    refused = unlocked.run(*command, cwd=project)
    assert refused.returncode == 1 and "not allowed" in refused.stderr
    program, *arguments = unlocked.command_line(*command)
    terminal = pexpect.spawn(
        program, arguments, cwd=str(project), env=unlocked.environment, encoding="utf-8", timeout=seconds(20))
    terminal.expect("TOKEN  service=github")
    terminal.expect("in the environment, now from the item login/")
    terminal.expect("The command that gets them now: sh -c echo got")
    terminal.expect("gets this secret, until")
    terminal.expect("Type 'yes'")
    terminal.sendline("yes")
    terminal.expect("got token")
    terminal.close()
    assert unlocked.run(*command, cwd=project, check=True).stdout == "got token\n"
    unlocked.run("tee", project / ".latchkey.yaml", input=text + "  # more\n", check=True)
    assert unlocked.run(*command, cwd=project).returncode == 1
    # A person cannot check so many secrets at a glance.
    many = "env:\n" + "".join(f"  TOKEN{number}:\n    service: github\n" for number in range(17))
    unlocked.run("tee", project / ".latchkey.yaml", input=many, check=True)
    assert "asks for 17 secrets" in unlocked.run(*command, cwd=project).stderr
    other = unlocked.home / "other"
    unlocked.run("cp", "-r", project, other, check=True)
    unlocked.run("tee", other / ".latchkey.yaml", input=text, check=True)
    assert unlocked.run(*command, cwd=other).returncode == 1


@pytest.mark.night("ssh")
def test_two_files_that_are_allowed_at_once_are_both_noted(unlocked):
    unlocked.store("token", "service", "github")
    command = ["latchkey", "run", "--", "sh", "-c", "echo got $TOKEN"]
    waiting = []
    for name in ("one", "two"):
        project = unlocked.home / name
        unlocked.run("mkdir", project, check=True)
        unlocked.run("tee", project / ".latchkey.yaml", input="env:\n  TOKEN:\n    service: github\n", check=True)
        program, *arguments = unlocked.command_line(*command)
        terminal = pexpect.spawn(
            program, arguments, cwd=str(project), env=unlocked.environment, encoding="utf-8", timeout=seconds(20))
        terminal.expect("Type 'yes'")
        waiting.append(terminal)
    for terminal in waiting:
        terminal.sendline("yes")
        terminal.expect("got token")
        terminal.close()
    for name in ("one", "two"):
        unlocked.run(*command, cwd=unlocked.home / name, check=True)


@pytest.mark.night("ssh")
def test_a_signal_in_front_of_the_command_leaves_no_file(unlocked):
    unlocked.store("secret", "service", "deploy")
    library = unlocked.root / "interrupted.so"
    source = pathlib.Path(__file__).parent / "Shims/interrupted.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    library.chmod(0o755)
    environment = unlocked.environment | {"LD_PRELOAD": str(library)}
    done = unlocked.run("latchkey", "run", "--file", "KEY=service=deploy", "--", "echo", "done", env=environment)
    assert done.returncode == -signal.SIGINT and done.stdout == ""
    assert not list(unlocked.runtime.glob("latchkey-run-*"))


@pytest.mark.night("ssh")
def test_bytes_that_are_no_text_reach_the_command(unlocked):
    unlocked.store("secret", "service", "deploy")
    odd = os.fsdecode(b"\xff\xfe")
    show = 'printf %s "$ODD$1$TOKEN" | od -An -tx1'
    for kind in ("--env", "--file"):
        done = unlocked.run(
            "latchkey", "run", kind, "X=service=deploy", "--", "sh", "-c", show, "sh", odd, env=unlocked.environment | {"ODD": odd},
            check=True)
        assert done.stdout.split() == ["ff", "fe", "ff", "fe"]


@pytest.mark.night("ssh")
def test_a_folder_that_is_gone_has_no_project(unlocked):
    done = unlocked.run("sh", "-c", "mkdir gone && cd gone && rmdir ../gone && latchkey run -- true")
    assert done.returncode == 1 and "does not exist any more" in done.stderr

"""latchkey-prompt on the caller's terminal, by lines and by pinentry, and without anybody to ask."""

import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tty

import pytest
from support import tracing
from support.derive import IS_ROOT, PASSWORD, PERSON, as_root
from support.prompting import IDENTITY, NUMBER, prompting, terminal  # noqa: F401
from support.standin import ACCEPTED, COLLECTION, DISMISSED, EXPIRED, NEW_PASSPHRASE, UNAVAILABLE, WRONG_ANSWERS

ASKED = "Enter your login password: "
WRONG = "That password is not right. Try again."
CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.fixture
def curses(prompting, terminal):
    """The person's pinentry is pinentry-curses."""
    (prompting.programs / "pinentry").symlink_to("/usr/bin/pinentry-curses")
    return terminal


def test_the_right_password_on_the_terminal(prompting, terminal):
    prompting.start(caller="secret-tool", terminal=terminal.path)
    terminal.expect('The application "secret-tool" (as far as can be told) wants access to your secrets.')
    terminal.expect(ASKED)
    assert terminal.is_silent
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED
    assert terminal.is_as_before
    assert PASSWORD not in terminal.everything() and prompting.said == ""


def test_a_wrong_password_may_be_mended(prompting, terminal):
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type("wrong\n")
    terminal.expect(WRONG)
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED


def test_three_wrong_passwords_are_enough(prompting, terminal):
    prompting.start(terminal=terminal.path)
    for _ in range(3):
        terminal.expect(ASKED)
        terminal.type("wrong\n")
    assert prompting.end() == WRONG_ANSWERS
    assert terminal.everything().count(ASKED) == 3 and terminal.is_as_before


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D, "half" + CTRL_C], ids=["ctrl-c", "ctrl-d", "half a line"])
def test_dismissed_on_the_terminal(prompting, terminal, key):
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type(key)
    assert prompting.end() == DISMISSED
    assert terminal.is_as_before


def test_withdrawn_on_the_terminal(prompting, terminal):
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    prompting.withdraw()
    assert prompting.end() is None
    assert terminal.is_as_before


def test_stopped_on_the_terminal(prompting, terminal):
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    prompting.process.send_signal(signal.SIGTERM)
    assert prompting.end() == DISMISSED
    assert terminal.is_as_before


def test_what_others_say_cannot_deceive(prompting, terminal):
    prompting.start(purpose=COLLECTION, label='Work"\x1b[2J\u202e\nroot', caller="a\x07\r" + 200 * "b", terminal=terminal.path)
    terminal.expect("Enter the passphrase of the collection \"Work' [2J root\": ")
    terminal.type(CTRL_C)
    assert prompting.end() == DISMISSED
    shown = terminal.everything()
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert "a " + 78 * "b" + "…" in shown and 79 * "b" not in shown


def test_a_new_passphrase_is_asked_twice(prompting, terminal):
    prompting.start(purpose=NEW_PASSPHRASE, label="Work", terminal=terminal.path)
    first, second = 'Choose a passphrase for the collection "Work": ', 'Enter the new passphrase of the collection "Work" again: '
    terminal.expect(first)
    terminal.type("\n")
    terminal.expect("The passphrase must not be empty.")
    terminal.expect(first)
    terminal.type("one\n")
    terminal.expect(second)
    terminal.type("other\n")
    terminal.expect("The two passphrases were not the same.")
    for question in (first, second):
        terminal.expect(question)
        terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED


def test_a_second_factor_and_what_modules_say(prompting, terminal):
    """The person gets each question of the stack, and sees the answer unless it is secret."""
    module = build_module(prompting.folder)
    prompting.service("latchkey-unlock", f"auth required {module}", prompting.password_line)
    prompting.start(caller="mail", terminal=terminal.path)
    terminal.expect("Your token's battery is low.")
    terminal.expect("Code on your token: ")
    assert not terminal.is_silent
    terminal.type("1234\n")
    terminal.expect(ASKED)
    assert terminal.is_silent
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED
    assert (prompting.folder / "asked").read_text() == f"1234 {NUMBER}  mail\n"


def test_modules_learn_which_prompt_it_is(prompting, terminal):
    module = build_module(prompting.folder)
    prompting.service("latchkey-collection", f"auth required {module}")
    prompting.start(purpose=COLLECTION, label="Wo\x1brk", caller="mail", terminal=terminal.path)
    terminal.expect("Code on your token: ")
    terminal.type("1\n")
    assert prompting.end() == ACCEPTED
    assert (prompting.folder / "asked").read_text() == f"1 {NUMBER} Wo rk mail\n"


def build_module(folder):
    """A PAM module that shows a message, asks a question, and records the answer."""
    source = folder / "module.c"
    os.chown(folder, PERSON.pw_uid, -1)
    source.write_text(r"""
#include <security/pam_modules.h>
#include <security/pam_ext.h>
#include <stdio.h>
#include <string.h>
static const char *v(pam_handle_t *h, const char *n) { const char *s = pam_getenv(h, n); return s ? s : "(none)"; }
int pam_sm_authenticate(pam_handle_t *h, int flags, int argc, const char **argv) {
  char *code = 0;
  pam_info(h, "Your token's battery is low.");
  if (pam_prompt(h, PAM_PROMPT_ECHO_ON, &code, "Code on your token: ") != PAM_SUCCESS || !code) return PAM_AUTH_ERR;
  FILE *out = fopen("@/asked", "w");
  if (!out) return PAM_AUTH_ERR;
  fprintf(out, "%s %s %s %s\n", code, v(h, "LATCHKEY_PROMPT"), v(h, "LATCHKEY_LABEL"), v(h, "LATCHKEY_CALLER"));
  fclose(out);
  return PAM_SUCCESS;
}
int pam_sm_setcred(pam_handle_t *h, int flags, int argc, const char **argv) { return PAM_SUCCESS; }
""".replace("@", str(folder)))
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", folder / "module.so", source, "-lpam"], check=True)
    return folder / "module.so"


# pinentry


def test_pinentry_on_the_terminal(prompting, curses):
    prompting.start(caller="100% mail", terminal=curses.path)
    curses.expect("Enter your login password")
    curses.expect('"100% mail"')
    curses.type("wrong\r")
    curses.expect(WRONG)
    curses.type(PASSWORD + "\r")
    assert prompting.end() == ACCEPTED
    assert curses.is_as_before
    assert PASSWORD not in curses.everything()


def test_pinentry_dismissed(prompting, curses):
    prompting.start(terminal=curses.path)
    curses.expect("<Cancel>")
    curses.type("\t\t\r")
    assert prompting.end() == DISMISSED
    assert curses.is_as_before


@pytest.mark.parametrize("way", ["withdrawn", "stopped", "pinentry killed"])
def test_pinentry_ended_while_it_asks(prompting, curses, way):
    prompting.start(terminal=curses.path)
    curses.expect("<Cancel>")
    (pinentry,) = children(prompting.process.pid)
    if way == "withdrawn":
        prompting.withdraw()
    elif way == "stopped":
        prompting.process.terminate()
    else:
        os.kill(pinentry, signal.SIGKILL)
    assert prompting.end() == (None if way == "withdrawn" else DISMISSED)
    assert curses.is_as_before and "\x1b[?1049l" in curses.everything()
    assert not pathlib.Path(f"/proc/{pinentry}").exists()


@pytest.mark.parametrize("program", ["#!/bin/false\n", "#!/bin/sh\necho rubbish\nread line\n"], ids=["ends", "rubbish"])
def test_a_broken_pinentry_is_left_for_the_plain_terminal(prompting, terminal, program):
    path = prompting.programs / "pinentry"
    path.write_text(program)
    path.chmod(0o755)
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED


def stand_in(prompting, cases):
    """A stand-in for a pinentry with a window. It answers by these cases of a shell, and otherwise agrees. Returns the file of
    the commands that it heard."""
    path, heard = prompting.programs / "pinentry", prompting.folder / "heard"
    heard.touch()
    os.chown(heard, PERSON.pw_uid, -1)
    path.write_text(f"""#!/bin/sh
echo OK Pleased to meet you
while read -r command; do
  echo "$command" >>{heard}
  case "$command" in
{cases}
  esac
  echo OK
done
""")
    path.chmod(0o755)
    prompting.environment["DISPLAY"] = ":no-display"
    return heard


def test_a_pinentry_that_nobody_answers(prompting):
    """The pinentry has a limit of a minute. If the prompt's limit ends it, nobody has dismissed it."""
    heard = stand_in(prompting, "GETPIN) echo ERR 83886142 Timeout; continue ;;")
    prompting.start()
    assert prompting.end() == EXPIRED
    assert "SETTIMEOUT 300" in heard.read_text().splitlines()


@pytest.mark.parametrize("flavor, outcome", [("qt", ACCEPTED), ("gnome3", UNAVAILABLE)])
def test_pinentry_in_a_window(prompting, flavor, outcome):
    """GNOME's pinentry asks by the system prompter. The prompt tried that one before, and the pinentry would wait for it without
    a limit."""
    heard = stand_in(prompting, f"""
    "GETINFO flavor") echo D {flavor} ;;
    GETPIN) echo "D {PASSWORD.replace(" ", "%20")}" ;;
    OPTION*) echo ERR 1 no options; continue ;;""")
    prompting.start(caller="100%")
    assert prompting.end() == outcome
    said = heard.read_text()
    assert ("GETPIN" in said) == (outcome == ACCEPTED)
    if outcome == ACCEPTED:
        wanted = 'SETDESC Enter your login password%0A%0AThe application "100%25" (as far as can be told) wants access to your secrets.'
        assert wanted in said.splitlines() and "ttyname" not in said


@as_root
def test_what_a_pinentry_answered_is_overwritten_in_the_kernel(prompting):
    """The answer comes through a pipe of one page. Then a page of zeros goes through the pipe. No socket carries the answer."""
    said = PASSWORD.replace(" ", "%20")
    stand_in(prompting, f"""    GETPIN) echo "D {said}" ;;""")
    trace, program = prompting.folder / "trace", prompting.folder / "traced"
    command = tracing.command(trace, "-u", PERSON.pw_name, prompting.program)
    program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n')
    program.chmod(0o755)
    prompting.program, prompting.environment["PATH"] = program, prompting.environment["PATH"] + ":/usr/bin:/bin"
    prompting.start(identity={})
    assert prompting.end() == ACCEPTED
    calls = tracing.calls(trace)
    (at,) = [at for at, call in enumerate(calls) if call.name == "read" and call.has(f"D {said}\n".encode())]
    assert calls[at].file.startswith("pipe:")
    # The later calls on this pipe, with a whole page.
    page = bytes(resource.getpagesize())
    followed = [call.name for call in calls[at:] if call.file == calls[at].file and call.has(page)]
    assert followed[:2] == ["write", "read"]
    assert [call.line for call in calls if call.file.startswith("socket:") and call.has(said.encode())] == []


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# Nobody to ask


def test_nobody_to_ask(prompting):
    prompting.start()
    assert prompting.end() == UNAVAILABLE
    assert "nobody can be asked" in prompting.said


@pytest.mark.parametrize("kind", ["a file", "somebody else's", "an editor's"])
def test_a_terminal_that_is_not_to_be_asked_on(prompting, terminal, kind):
    path = terminal.path
    if kind == "a file":
        path = str(prompting.folder / "passwd")
    elif kind == "somebody else's":
        if not IS_ROOT:
            pytest.skip("needs root")
        os.fchown(terminal.device, 12345, -1)
        os.fchmod(terminal.device, 0o666)
    else:
        tty.setraw(terminal.device)
    prompting.start(terminal=path)
    assert prompting.end() == UNAVAILABLE
    assert terminal.everything() == ""


def test_pam_that_asks_nobody(prompting, terminal):
    """The stack refuses before any question, as for a locked account. Another try would end in the same way."""
    prompting.service("latchkey-unlock", "auth required pam_deny.so")
    prompting.start(terminal=terminal.path)
    assert prompting.end() == UNAVAILABLE
    assert "PAM asks nobody" in prompting.said


def test_a_prompt_that_is_none(prompting):
    prompting.start()
    prompting.process.wait()
    del prompting.daemon.prompts[NUMBER]
    with open(prompting.log, "w") as log:
        done = subprocess.run([prompting.program, "--runtime", prompting.login.runtime, "9"], stderr=log,
                              env=prompting.environment, **IDENTITY)
    assert done.returncode == 1 and "no such prompt" in prompting.said


@pytest.mark.parametrize("arguments", [[], ["x"], ["1", "2"], ["--runtime", "relative", "1"], ["-1"]])
def test_usage(programs, arguments):
    done = subprocess.run([programs / "latchkey-prompt", *arguments], capture_output=True, text=True, **IDENTITY)
    assert done.returncode == 64 and done.stdout.startswith("usage: latchkey-prompt")


# Secrets


def test_the_process_tells_nobody(prompting, terminal):
    prompting.start(terminal=terminal.path)
    terminal.expect(ASKED)
    terminal.type("wrong\n")
    terminal.expect(WRONG)
    terminal.expect(ASKED)
    process = pathlib.Path(f"/proc/{prompting.process.pid}")
    # The process is not dumpable: its files belong to root, and no other process of the user can read its memory.
    assert os.stat(process / "environ").st_uid == 0
    assert subprocess.run(["cat", process / "environ"], capture_output=True, **IDENTITY).returncode != 0 or not IS_ROOT
    if IS_ROOT:
        assert b"wrong" not in (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        assert re.search(r"Max core file size +0 ", (process / "limits").read_text())
    terminal.type(CTRL_C)
    assert prompting.end() == DISMISSED
    assert "wrong" not in prompting.said


@as_root
@pytest.mark.parametrize("way", ["lines", "pinentry"])
def test_a_password_is_forgotten(prompting, terminal, way, request):
    """The password is gone once PAM has refused it. A control shows that the search works: the caller's name is still found."""
    wrong = "falsches-Zebra-Batterie-815"
    if way == "pinentry":
        request.getfixturevalue("curses")
    prompting.start(caller="a-caller-to-be-found", terminal=terminal.path)
    terminal.expect("Enter your login password")
    terminal.type(wrong + "\r")
    terminal.expect(WRONG)
    memory = prompting.memory()
    assert b"a-caller-to-be-found" in memory
    assert wrong.encode() not in memory and wrong.encode()[8:] not in memory
    prompting.withdraw()
    assert prompting.end() is None


@as_root
def test_pam_unix_as_an_ordinary_user(prompting, terminal):
    """unix_chkpwd is setgid or setuid, and its parent process is not dumpable."""
    hashed = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, capture_output=True, text=True, check=True)
    # The account has another name than nobody, because libnss_systemd always says that nobody has no password.
    passwd, shadow = prompting.folder / "etc-passwd", prompting.folder / "etc-shadow"
    passwd.write_text(f"root:x:0:0::/:/bin/sh\nperson:x:{PERSON.pw_uid}:{PERSON.pw_gid}::/:/bin/sh\n")
    passwd.chmod(0o644)
    shadow.write_text(f"person:{hashed.stdout.strip()}:19000:0:99999:7:::\n")
    shadow.chmod(0o640)
    os.chown(shadow, 0, os.stat("/etc/shadow").st_gid)
    prompting.service("latchkey-unlock", "auth requisite pam_unix.so nodelay", "account required pam_permit.so")
    program = prompting.folder / "in-another-system"
    program.write_text(f"""#!/bin/sh
mount --bind {passwd} /etc/passwd && mount --bind {shadow} /etc/shadow || exit 1
exec setpriv --reuid={PERSON.pw_uid} --regid={PERSON.pw_gid} --clear-groups -- {prompting.program} "$@"
""")
    program.chmod(0o755)
    prompting.program = "/usr/bin/unshare"
    prompting.environment["PATH"] = "/usr/bin:/bin:/usr/sbin:/sbin"
    prompting.start("--mount", program, terminal=terminal.path, identity={})
    terminal.expect(ASKED)
    terminal.type("wrong\n")
    terminal.expect(WRONG)
    terminal.type(PASSWORD + "\n")
    assert prompting.end() == ACCEPTED

"""The account and the PAM service's file decide where the vault is. The environment never does."""

import pytest
from support.machine import eventually
from test_install import files

pytestmark = pytest.mark.second_try


def test_environment_moves_nothing(alice):
    with alice.login() as session:
        session.store("of default", app="default")
        before = files(alice.vault)
        session.run("mkdir /tmp/elsewhere-$USER && loginctl lock-session")
        eventually(lambda: session.status()["state"] == "locked", what="the lock")
        names = "HOME XDG_DATA_HOME XDG_RUNTIME_DIR LATCHKEY_HOME LATCHKEY_RUNTIME"
        elsewhere = " ".join(f"{name}=/tmp/elsewhere-{alice.name}" for name in names.split())
        session.start(f"env {elsewhere} pamtester i3lock {alice.name} authenticate")
        session.expect("assword: ")
        session.send(alice.password)
        assert session.finish().returncode == 0
        alice.machine.await_helpers()
        eventually(lambda: session.status()["state"] == "unlocked", what="the unlock")
        assert session.secret(app="default") == "of default"
        assert session.run("ls -A /tmp/elsewhere-$USER; rm -r /tmp/elsewhere-$USER").stdout == ""
        assert files(alice.vault).keys() == before.keys()


def test_arguments_in_the_service_file_lead_away_from_the_real_vault(alice):
    away = f"/tmp/away-{alice.name}"
    arguments = f"home={away}/home runtime={away}/run"
    alice.machine.path("/etc/pam.d/throwaway").write_text(
        f"auth required pam_unix.so\nauth optional pam_latchkey.so {arguments}\naccount required pam_permit.so\n"
        f"session required pam_permit.so\nsession optional pam_latchkey.so {arguments}\n"
    )
    with alice.login() as session:
        session.store("of default", app="default")
        before = files(alice.vault)
        times = {file: file.stat().st_mtime_ns for file in [alice.vault, *alice.vault.iterdir()]}
        session.run(f"mkdir -m 700 {away} {away}/home {away}/run")
        session.start(
            # A helper may go on after its login, and the daemon writes until the daemon ends.
            f"dbus-run-session -- sh -c '/usr/libexec/latchkeyd --home {away}/home --runtime {away}/run & daemon=$!; "
            f"until ss -xl | grep -q {away}/run/latchkey/control; do sleep 0.1; done; "
            f"pamtester throwaway {alice.name} authenticate open_session close_session; outcome=$?; "
            "while pgrep -x latchkey-derive >/dev/null; do sleep 0.1; done; kill $daemon; wait $daemon; exit $outcome'"
        )
        session.expect("assword: ")
        session.send(alice.password)
        assert session.finish().returncode == 0
        # The keybag is there, so the module used its arguments.
        assert session.run(f"find {away} -name keybag | wc -l; rm -r {away}").stdout == "1\n"
        assert files(alice.vault) == before
        assert {file: file.stat().st_mtime_ns for file in times} == times
        assert session.status()["state"] == "unlocked"

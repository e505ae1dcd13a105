"""`make install` installs the expected files, and `make uninstall` removes exactly these files. A login survives both."""

import os
import re
import subprocess

import pytest
from support.machine import REPOSITORY, make

pytestmark = pytest.mark.second_try

LIBRARIES = "usr/lib/" + subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True).stdout.strip()
INSTALLED = {
    "usr/bin/latchkey",
    "usr/libexec/latchkeyd",
    "usr/libexec/latchkey-derive",
    "usr/libexec/latchkey-prompt",
    "usr/libexec/latchkey-deviced",
    "usr/libexec/latchkey-ssh-agent",
    "usr/libexec/latchkey-ssh-askpass",
    "usr/lib/systemd/user/latchkey-credentials.socket",
    "usr/lib/systemd/user/latchkey-credentials@.service",
    "usr/lib/systemd/user/sockets.target.wants/latchkey-credentials.socket",
    "usr/lib/environment.d/60-latchkey-ssh-agent.conf",
    "usr/lib/systemd/user/latchkey-ssh-agent.socket",
    "usr/lib/systemd/user/latchkey-ssh-agent.service",
    "usr/lib/systemd/user/sockets.target.wants/latchkey-ssh-agent.socket",
    "usr/libexec/latchkey-kwallet",
    "usr/libexec/latchkey-security-key",
    "etc/xdg/autostart/latchkey-security-key.desktop",
    f"{LIBRARIES}/security/pam_latchkey.so",
    "usr/share/dbus-1/services/org.freedesktop.secrets.latchkey.service",
    "usr/share/dbus-1/services/org.freedesktop.impl.portal.desktop.latchkey.service",
    "usr/share/xdg-desktop-portal/portals/latchkey.portal",
    *(f"usr/share/locale/{language}/LC_MESSAGES/latchkey.mo" for language in ("de", "fr")),
    "usr/share/dbus-1/interfaces/org.latchkey.Secrets.xml",
    "usr/share/dbus-1/interfaces/org.latchkey.Item.xml",
    "usr/share/dbus-1/interfaces/org.latchkey.Keychain.xml",
    "usr/share/dbus-1/interfaces/org.latchkey.Prompt.xml",
    "usr/share/dbus-1/interfaces/org.latchkey.Vault.xml",
    "usr/lib/systemd/user/latchkeyd.socket",
    "usr/lib/systemd/user/latchkeyd.service",
    "usr/lib/systemd/user/latchkey-first-unlock.target",
    "usr/lib/systemd/user/sockets.target.wants/latchkeyd.socket",
    "usr/lib/systemd/system/latchkey-deviced.socket",
    "usr/lib/systemd/system/latchkey-deviced.service",
    "usr/lib/systemd/system/sockets.target.wants/latchkey-deviced.socket",
    "usr/share/pam-configs/latchkey",
    "usr/share/latchkey/rules.yaml",
    "usr/share/bash-completion/completions/latchkey",
    "usr/share/zsh/site-functions/_latchkey",
    "usr/share/fish/vendor_completions.d/latchkey.fish",
    "usr/lib/systemd/user/latchkey-prompt@.service",
    "etc/pam.d/latchkey-unlock",
    "etc/pam.d/latchkey-collection",
    "etc/pam.d/latchkey-item",
    "etc/pam.d/latchkey-presence",
    "etc/pam.d/latchkey-biometry",
    # `make install-window` installs the window's page.
    *(f"usr/share/man/man{page.suffix[1:]}/{page.name}" for page in (REPOSITORY / "docs/man").iterdir()
      if page.stem != "latchkey-app"),
    "usr/share/man/man8/latchkey-ssh-askpass.8",
    "usr/share/doc/latchkey/SECURITY.md",
    "usr/share/doc/latchkey/pam/README.md",
    "usr/share/doc/latchkey/docs/pictures/day.svg",
    *(f"usr/share/doc/latchkey/{page.relative_to(REPOSITORY)}"
      for pages in ("docs/user/*.md", "docs/security/*.md", "docs/pictures/*.png") for page in REPOSITORY.glob(pages)),
}
OF_OTHERS = {
    "usr/share/dbus-1/services/org.freedesktop.secrets.service",
    "usr/lib/systemd/user/sockets.target.wants/gnome-keyring-daemon.socket",
    "usr/lib/systemd/system/sockets.target.wants/dbus.socket",
    "etc/pam.d/login",
}


def files(top):
    """Every file and link under a folder, with its mode and content."""
    found = {}
    for folder, folders, names in os.walk(top):
        for name in names + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
            path = os.path.join(folder, name)
            content = os.readlink(path) if os.path.islink(path) else open(path, "rb").read()
            found[os.path.relpath(path, top)] = (os.lstat(path).st_mode, content)
    return found


def test_install_and_uninstall_touch_just_our_files(tmp_path):
    for name in OF_OTHERS:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("of another package\n")
    before = files(tmp_path)
    make("install", tmp_path)
    laid = files(tmp_path)
    assert {name: laid[name] for name in before} == before
    assert set(laid) - set(before) == INSTALLED
    make("install", tmp_path)  # a second run changes nothing
    assert files(tmp_path) == laid
    make("uninstall", tmp_path)
    assert files(tmp_path) == before
    make("uninstall", tmp_path)


def test_uninstall_removes_a_folder_that_was_new(tmp_path):
    make("install", tmp_path)
    make("uninstall", tmp_path)
    assert files(tmp_path) == {}
    assert not (tmp_path / "usr/lib/systemd/user/sockets.target.wants").exists()
    assert not (tmp_path / "usr/lib/systemd/system/sockets.target.wants").exists()
    assert not (tmp_path / "usr/share/latchkey").exists()
    assert not (tmp_path / "usr/share/doc/latchkey").exists()
    assert not (tmp_path / "usr/share/dbus-1/interfaces").exists()


def test_templates_are_filled_in(tmp_path):
    subprocess.run(
        ["make", "-C", REPOSITORY, "install", f"DESTDIR={tmp_path}", "PREFIX=/opt/latchkey"], check=True, capture_output=True
    )
    for name, (_, content) in files(tmp_path).items():
        if name.endswith((".service", ".socket", ".target")) and isinstance(content, bytes):
            text = content.decode()
            assert not re.search("@[A-Z]+@", text), name
            assert "/usr/" not in text, name
    assert "ExecStart=/opt/latchkey/libexec/latchkey-deviced " in (
        tmp_path / "opt/latchkey/lib/systemd/system/latchkey-deviced.service"
    ).read_text()
    unit = (tmp_path / "opt/latchkey/lib/systemd/user/latchkeyd.service").read_text()
    assert "ExecStart=/opt/latchkey/libexec/latchkeyd --rules /opt/latchkey/share/latchkey/rules.yaml\n" in unit


def test_programs_bring_their_swift_runtime(tmp_path):
    make("install", tmp_path)
    for name in INSTALLED:
        if name.startswith(("usr/bin/", "usr/libexec/")) or name.endswith(".so"):
            needed = subprocess.run(["ldd", tmp_path / name], capture_output=True, text=True).stdout
            assert "not found" not in needed
            assert "libswift" not in needed, name
            assert "Foundation" not in needed, name


@pytest.fixture
def uninstalled(machine):
    """The system after `make uninstall`, until the test's end."""
    machine.root("pam-auth-update", "--package", "--remove", "latchkey")
    make("uninstall", machine.path("/"))
    yield
    make("install", machine.path("/"))
    machine.root("pam-auth-update", "--package", "--enable", "latchkey")


def test_login_after_uninstall(alice, uninstalled):
    assert "latchkey" not in alice.machine.root("cat", "/etc/pam.d/common-auth", "/etc/pam.d/common-session").stdout
    cursor = alice.machine.cursor()
    with alice.login() as session:
        session.run("true")
    assert "latchkey" not in alice.machine.journal(cursor, "login")
    assert not alice.vault.exists()

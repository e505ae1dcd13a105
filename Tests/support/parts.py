"""The parts of the test run: the promise of each, its command, its duration, and the sources that make it run.

`make test` runs the parts of the gate, and `make test-all` runs every part. `.ci/run` runs the gate, and then the other
parts whose sources a change touches. A test without the marker `night` belongs to the gate. The marker `night("NAME")`
puts a test into the part of that name. The parts at the end of the list have their own folders or commands.
"""

import dataclasses

GATE = "gate"
PYTEST = ("/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-q")

# The tests of a file share sessions. If one worker runs all tests of a file, each session is made only once.
BY_FILE = ("--dist", "loadfile")
CLIENT = ("Sources/Programs/latchkey/", "Sources/Tools/ForeignKeyrings/", "Sources/Wire/", "Sources/System/")
PROMPTS = (
    "Sources/Daemon/Prompts/", "Sources/Prompt/", "Sources/Programs/latchkey-prompt/", "Sources/System/PAMClient/", "Sources/System/Gettext/",
    "Tests/support/dialog.py", "Tests/support/prompting.py", "Tests/support/display.py")
LOGIN = (
    "Sources/PAM/", "Sources/Programs/latchkey-derive/", "Sources/C/CHelper/", "Sources/C/CPAM", "Sources/Vault/Keybag/",
    "Sources/Daemon/SessionState/", "Sources/Programs/latchkey-security-key/", "Sources/Wire/SecurityKeys/", "Sources/Wire/HelperProgram/", "Sources/System/FIDO/", "pam/")
DAEMON = ("Sources/Daemon/Daemon/", "Sources/Daemon/SecretService/", "Sources/Vault/", "Sources/Programs/latchkeyd/", "dbus/")
DEVICE = (
    "Sources/Programs/latchkey-deviced/", "Sources/Vault/DeviceStore/", "Sources/Wire/DeviceService/", "Sources/Wire/FingerReaders/",
    "Sources/System/TSS/")


@dataclasses.dataclass(frozen=True)
class Part:
    """One process of the run, and the promise that it proves."""

    name: str
    # A text for the table in Tests/README.md.
    proves: str
    # Folders of `Tests`, or single files.
    tests: tuple[str, ...]
    # The duration on two quiet cores, without other parts, after the build.
    minutes: float
    # The part runs if a change touches a path with one of these beginnings, or the part's own tests.
    sources: tuple[str, ...] = ()
    # The number of tests that run in parallel on two cores. Most tests wait for other processes.
    workers: int = 1
    # Whether the part has only the tests that are marked with its name. Otherwise the part has all tests in its
    # folders.
    marked: bool = False
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    # Targets of the Makefile that must run first.
    targets: tuple[str, ...] = ()
    # Debian packages that the tests' root gets only for this part.
    packages: str = ""
    # Whether the part runs in the tests' own root, which has desktop programs.
    in_root: bool = True
    # A program that runs instead of pytest.
    command: tuple[str, ...] = ()


# The slowest parts begin first.
GATE_PARTS = (
    Part("desktop", "A booted Debian: login, lock, sleep, sessions, logout, lockers, installation", ("Desktop",), 8, workers=5),
    Part("integration", "`latchkeyd` on a session bus: other people's clients, items, classes, prompts, backup", ("Integration",), 8, workers=6, options=BY_FILE),
    Part("unit", "Each module of `Sources` without a session", (), 3, command=("swift", "test")),
    Part("programs", "Each program as a process, beside a stand-in for the daemon", ("Programs",), 3, workers=3),
    Part("module", "The PAM module in the real libpam", ("PAMModule",), 1, workers=6),
    Part("repository", "Documents, lists, translations, floors", ("Repository",), 0.5, workers=2),
    Part("power", "A vault after a power cut, at a few cuts", ("PowerCuts",), 1, workers=2),
)

# The parts are in order of importance: `.ci/run` begins with the first part that a change needs.
NIGHT_PARTS = (
    Part("login", "Every failure of a login and of a password change, at every entry point",
         ("PAMModule", "Programs", "Integration", "Desktop"), 6, LOGIN, workers=4, marked=True),
    Part("vault", "Rows, rotation, generations, healing and backups in every combination", ("Integration", "Programs", "Desktop"), 6,
         DAEMON, workers=3, marked=True),
    Part("device", "The device key service: its TPM, floods, its end at every moment", ("Programs", "Integration", "Desktop"), 4,
         DEVICE, workers=3, marked=True),
    Part("prompters", "Real prompters on a screen and on terminals", ("Integration", "Programs", "Desktop"), 6, PROMPTS, workers=3,
         marked=True),
    Part("clients", "Browsers, Seahorse, credential helpers, packages that use the library, every row of the Keychain Services conformance",
         ("Integration", "Programs", "Desktop"), 8,
         (*DAEMON, "Package.swift", "Sources/KeychainServices/", "Sources/Wire/SecretClient/"), workers=3, marked=True),
    Part("imports", "Imports and exports of every program, with real files", ("Integration", "Programs"), 6, CLIENT, workers=3,
         marked=True),
    Part("ssh", "The ssh agent with OpenSSH, its own tests, git, libraries, many clients and 50 locks; secrets for units", ("Integration", "Desktop"), 8,
         ("Sources/Wire/SSHProtocol/", "Sources/Programs/latchkey-ssh-agent/", "Sources/Wire/SecretClient/",
          "Sources/Programs/latchkey/Run/CredentialCommand.swift"),
         workers=2, marked=True, packages="ansible-core openssh-tests python3-paramiko python3-asyncssh golang-go golang-golang-x-crypto-dev rsync softhsm2"),
    Part("kwallet", "KDE's programs with `latchkey-kwallet`: libraries of Debian 12 and 13, networks, mail, kwalletmanager, locks and kills",
         ("Integration",), 6, ("Sources/Programs/latchkey-kwallet/", *CLIENT), workers=2, marked=True,
         packages="kde-cli-tools kded5 kio ksshaskpass kwalletmanager libkf5wallet-dev network-manager plasma-nm"),
    Part("window", "The window, by the accessibility bus: what it shows is what the command line says; locks, kills, memory", ("Window",), 4,
         ("Sources/Programs/latchkey-app/", "Sources/System/Adwaita/", "Sources/C/CAdwaita/", "window/", "Sources/Wire/SecretClient/"),
         targets=("window",), packages="libadwaita-1-0 xclip appstream desktop-file-utils"),
    Part("faults", "Floods, full disks, kills, slow disks", ("Integration", "Programs", "Desktop"), 5, (*DAEMON, *LOGIN), workers=2,
         marked=True),
    Part("languages", "Every text in languages that nobody speaks", ("Integration", "Programs"), 3, ("po/", *PROMPTS, *CLIENT),
         workers=3, marked=True, options=BY_FILE),
    Part("suites", "Test suites of other clients, unchanged", ("Suites",), 3, DAEMON, workers=2),
    Part("cuts", "A vault after a power cut, at 2,500 cuts of ext4 and btrfs", ("PowerCuts",), 8,
         ("Sources/Vault/", "Sources/System/SQLite/", "Tests/PowerCuts/"), workers=2, environment=(("LATCHKEY_CUTS", "1250"),)),
    Part("fuzz", "No input crashes a parser or the daemon", ("Fuzz",), 12, ("Sources/",), targets=("fuzz-build",),
         environment=(("FUZZ_SECONDS", "300"),)),
    Part("packages", "The Debian packages in booted Debian 12 and 13", ("Packages",), 12,
         ("debian/", "packaging/", "pam/", "dbus/", "Makefile", "Sources/Tools/ProviderSwitch/"), workers=3, targets=("deb",),
         environment=(("CI", "true"),)),
    Part("machine", "A whole machine under QEMU: what is left in its memory, beside a TPM too; a security key; wrong dates",
         ("Machine",), 30,
         (*LOGIN, *DEVICE, "Sources/Daemon/Daemon/Fingers/", "Sources/System/Sodium/", "Sources/System/ErasedMappings/", "Tests/Machine/",
          "Tests/support/authenticator.py")),
    Part("desktops", "GNOME, Plasma, Xfce and MATE, booted and typed into", ("RealDesktops",), 25,
         (*PROMPTS, "Sources/Daemon/SessionState/", "Sources/Programs/latchkey-app/"), environment=(("CI", "true"),), targets=("window",)),
    Part("beside", "The client library and swift-certificates in one program", (), 8,
         ("Package.swift", "Sources/KeychainServices/", "Tests/SecurityBeside/"), in_root=False, command=("make", "beside")),
    Part("corpora", "2,000 items from each provider, in and out", ("Integration/Import/test_import_corpus.py", "Integration/Export/test_export_corpus.py"),
         10, ("Sources/Tools/ForeignKeyrings/", "Sources/Programs/latchkey/"), workers=2, environment=(("LATCHKEY_CORPUS", "2000"),)),
    Part("all-suites", "The same suites and those that need compilers, beside gnome-keyring", ("Suites",), 15, (),
         environment=(("LATCHKEY_SUITES", "all"),),
         packages="gir1.2-gcr-3 golang-go golang-github-docker-docker-credential-helpers-dev cargo rustc librust-secret-service-dev"),
    Part("kills", "The daemon killed at 500 random moments under load", ("Integration/Daemon/test_load.py",), 10, (),
         environment=(("LATCHKEY_KILLS", "500"),)),
    Part("elsewhere", "The gate on another person's machine: started a moment ago, one core, other zone, locale, umask and home", (), 40, (),
         in_root=False, command=("Tests/Session/elsewhere", "--", "Tests/run", "gate")),
    Part("damage", "Damage of every byte of every file, the end of a process in front of every change of one, and the largest worlds of sessions",
         (), 15, command=("swift", "test", "--filter", "VaultTests", "--filter", "SessionStateTests", "--filter", "GcryptTests"),
         environment=(("LATCHKEY_EVERY_CASE", "1"),)),
)

NIGHT_NAMES = tuple(part.name for part in NIGHT_PARTS if part.marked)


def parts_for(paths):
    """The parts of the night that a change of these files needs, in order of importance."""
    touched = lambda part: any(path.startswith(begin) for path in paths for begin in (*part.sources, *own_tests(part)))
    return [part for part in NIGHT_PARTS if touched(part)]


def own_tests(part):
    """The folders and files that belong only to this part."""
    return () if part.marked else tuple(f"Tests/{name}{'' if name.endswith('.py') else '/'}" for name in part.tests)


def table():
    """The table for Tests/README.md, which `Tests/run table` prints."""
    lines = ["| part | proves | tests | runs in | minutes |", "| --- | --- | --- | --- | --- |"]
    for run, parts in (("make test", GATE_PARTS), ("make test-all", NIGHT_PARTS)):
        for part in parts:
            folders = ", ".join(f"`{name}`" for name in part.tests) or f"`{' '.join(part.command)}`"
            lines.append(f"| `{part.name}` | {part.proves} | {folders} | `{run}` | {part.minutes:g} |")
    return "\n".join(lines)

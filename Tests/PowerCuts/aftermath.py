"""Compares a vault after a power cut with the answers that its client got before."""

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import tempfile

from loggeddisk import mounted
from support import vaultreader
from support.archive import PASSPHRASE
from support.backupreader import Backup
from support.peer import Peer
from support.session import Session, wait_until
from support.vaultreader import Keybag, ServiceKey, Unreadable, Vault
from workload import ASKS, Service

GENERATION = re.compile(r"\d+-\d+-(\d+)\.db")

# Argon2id costs more than everything else in the readers. All states have the same password, keybag, passphrase and
# backup, so the results are cached.
vaultreader.argon2id = functools.lru_cache(maxsize=None)(vaultreader.argon2id)


class Broken(Exception):
    """The vault does not match the answers that its client got."""


@dataclasses.dataclass
class Aftermath:
    """The files that survived, in `folder`, and the client's knowledge."""

    folder: pathlib.Path
    # The content of the vault after the last acknowledged step, and after the step that had begun.
    told: dict
    asked: dict
    doing: str
    partly: bool
    uid: int
    # Statistics of the check: whether a copy of the keybag exists, how many generations opened, and how many other
    # names in the folder are not whole generations.
    has_copy: bool = False
    opened_generations: int = 0
    ignored_generations: int = 0

    @staticmethod
    def of(state, kind, folder, uid):
        """Copies the needed files from a disk, and releases the disk."""
        done = [mark for mark in state.marks if mark["stage"] == "done"]
        begun = state.marks[-1]
        told = done[-1]["holds"] if done else {"vault": False, "items": {}, "opening": [], "backup": None}
        with mounted(state.image, kind) as place:
            homes = [*place.glob("latchkey-*/home")]
            for home in homes:
                if (home / ".local/share/latchkey").is_dir():
                    shutil.copytree(home / ".local/share/latchkey", folder / "latchkey")
                if (home / "b").exists():
                    shutil.copy(home / "b", folder / "b")
            if (place / "device").is_dir():
                shutil.copytree(place / "device", folder / "device")
        return Aftermath(folder, told, begun["holds"], begun["doing"], begun["partly"], uid)

    @property
    def vault(self):
        return self.folder / "latchkey"

    # MARK: conditions

    def check(self):
        """Checks the files, and returns the items, or None without a vault. Raises Broken for a wrong content, and
        Unreadable for files that are not a valid vault."""
        self._check_backup()
        copy = self.vault / "keybag.copy"
        self.has_copy = copy.exists()
        if not (self.vault / "keybag").exists():
            self._require(not self.told["vault"], "the vault is gone")
            self._require(not self.has_copy, "there is a copy of no keybag")
            return None
        content = (self.vault / "keybag").read_bytes()
        if self.has_copy:
            self._require(copy.read_bytes() == content, "keybag.copy is another keybag")
        opening = self.told["opening"] or self.asked["opening"]
        for password in set(self.told["opening"]) & set(self.asked["opening"]):
            Keybag(content, password)
        keybag = next(filter(None, (self._opened(content, password) for password in opening + self.asked["opening"])), None)
        self._require(keybag is not None, "no password opens the keybag")
        if not (self.vault / "vault.db").exists():
            self._require(not self.told["vault"] and keybag.generation == 1, "the database is gone")
            return None
        items = self._items(keybag)
        self._check_items(items)
        self._check_generations(keybag)
        return items

    def _check_generations(self, keybag):
        """Every generation whose keys exist must open as a vault. Other generations and other names do not count."""
        folder = self.vault / "generations"
        for path in folder.iterdir() if folder.is_dir() else ():
            name = GENERATION.fullmatch(path.name)
            # The daemon removes a generation of a former key epoch when a newer generation exists. The keybag may have
            # lost that epoch's keys earlier.
            if not name or (int(name[1]), "C") not in keybag.tiers:
                self.ignored_generations += 1
                continue
            try:
                with tempfile.TemporaryDirectory(dir=self.folder) as place:
                    shutil.copy(path, f"{place}/vault.db")
                    if (self.vault / "device.key").exists():
                        shutil.copy(self.vault / "device.key", place)
                    self._read_any(keybag, lambda arguments, place=place: Vault(place, None, **arguments))
            except Unreadable as error:
                raise Broken(f"generation {path.name}: {error}") from error
            self.opened_generations += 1

    @staticmethod
    def _require(condition, problem):
        if not condition:
            raise Broken(problem)

    @staticmethod
    def _opened(content, password):
        try:
            return Keybag(content, password)
        except Unreadable as error:
            if "opens no protector" in str(error):
                return None
            raise

    def _check_backup(self):
        if self.told["backup"] is None or self.asked["backup"] != self.told["backup"]:
            return
        backup = Backup((self.folder / "b").read_bytes(), PASSPHRASE)
        # Items that only this device can read have no label for other readers.
        labels = [item.label for item in backup.items]
        self._require(
            len(labels) == len(self.told["backup"]) and {*labels} - {None} <= {*self.told["backup"]},
            f"the backup has {labels} of {self.told['backup']}")  # fmt: skip

    def _items(self, keybag):
        """The readable secrets, by label."""
        return max((self._read(keybag, device) for device in self._devices()), key=len)

    def _devices(self):
        devices = [None]
        if (self.folder / "device/users" / str(self.uid)).exists():
            # While the device key moves, both places may have the key, and either key is valid.
            devices.append(self._service_key())
        else:
            self._require(not self.told.get("service"), "the service's secret of the user is gone")
        return devices

    def _read_any(self, keybag, read):
        """Reads with any of the device's keys, with or without its erasable secret. A generation may be older than the
        present key and secret."""
        problem = None
        for device in self._devices():
            for erased in (False, True):
                try:
                    return read(self._arguments(keybag, device) | {"erased": erased})
                except Unreadable as error:
                    problem = error
        raise problem

    @staticmethod
    def _arguments(keybag, device):
        return {"machine": vaultreader.machine_identity(vaultreader.APPLICATION), "keybag": keybag, "device": device}

    def _service_key(self):
        told, asked = self.told.get("service") or {}, self.asked["service"] or {}
        secret = asked.get("secret")
        key = ServiceKey(self.folder / "device", self.uid, sealed=secret and bytes.fromhex(secret))
        if told and told["place"] == asked["place"]:
            self._require(key.place == told["place"], f"the device key is in place {key.place}")
        self._require(secret in (None, key.secret.hex()), "it is another device secret")
        return key

    def _read(self, keybag, device):
        arguments = self._arguments(keybag, device)
        try:
            vault = Vault(self.vault, None, **arguments)
        except Unreadable:
            if not self.partly:
                raise
            vault = Vault(self.vault, None, erased=True, **arguments)
        if self.told.get("cleared"):
            self._require(vault.log[0].outcome == "cleared", "what was removed from the log is back")
        return {item.label: (item.accessibility, item.secret.decode()) for item in vault.items.values() if item.secret}

    def _check_items(self, found):
        before, after = ({name: tuple(item) for name, item in side["items"].items()} for side in (self.told, self.asked))
        if self.partly:
            for name in {*before, *after, *found}:
                self._require(found.get(name) in (before.get(name), after.get(name)), f"{name} is neither")
        else:
            self._require(found in (before, after), f"it holds {self._shown(found)}, told {self._shown(before)}, asked"
                          f" {self._shown(after)}")  # fmt: skip

    @staticmethod
    def _shown(items):
        return {name: (kind, secret[:8]) for name, (kind, secret) in sorted(items.items())}


@contextlib.contextmanager
def after(state, kind, uid):
    """The surviving files in one state of the disk. The files are deleted at the end of the block."""
    with tempfile.TemporaryDirectory(dir=state.image.parent) as folder:
        yield Aftermath.of(state, kind, pathlib.Path(folder), uid)


class NextStart:
    """A session that starts with the files after a power cut."""

    def __init__(self, stage, tpm):
        """`tpm` is the TPM of the workload, which the power cuts do not affect."""
        self.session = Session(stage)
        self.service = Service(
            tcti=tpm.tcti, program=stage / "usr/libexec/latchkey-deviced", path=self.session.root / "device.sock")

    def close(self):
        self.service.close()
        self.session.close()

    def check(self, aftermath, items):
        """Logs in. The vault must be unlocked, have no problems, and have the `items`. With None, the vault must be
        new."""
        self.session.stop_daemon()
        self.service.stop()
        self._replace(self.session.vault, aftermath.vault, self.session.uid, self.session.gid)
        self._replace(self.service.state, aftermath.folder / "device", 0, 0)
        if self.service.state.is_dir():
            self.service.start()
        self.session.start_daemon()
        opening = {*aftermath.told["opening"]} & {*aftermath.asked["opening"]} or aftermath.asked["opening"]
        self._log_in(sorted(opening))
        status = self.session.status()
        assert status["state"] == "unlocked" and status["problems"] == [], status
        peer = Peer(self.session)
        try:
            found = sum(peer.search({"power": "cut"}), [])
            secrets = sorted(peer.read(path).decode() for path in found)
        finally:
            peer.close()
        # If the last step was not acknowledged, the daemon completes the step, and removes items that no key opens any
        # more.
        if not aftermath.partly:
            items = items or {}
            assert secrets == sorted(secret for name, (_, secret) in items.items() if name != ASKS)
            assert status["items"] == len(items), status

    @staticmethod
    def _replace(folder, by, uid, gid):
        shutil.rmtree(folder, ignore_errors=True)
        if by.is_dir():
            shutil.copytree(by, folder)
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, gid)

    def _log_in(self, passwords):
        """Logs in with the password that opens the vault, or with a new password if there is no vault. A busy machine
        may need a second login."""

        def is_unlocked():
            for password in passwords:
                self.session.set_password(password)
                self.session.login()
                if self.session.status()["state"] == "unlocked":
                    return True
            return False

        wait_until(is_unlocked, "the unlocked vault", 60)

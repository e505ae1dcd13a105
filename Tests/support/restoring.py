"""A restore through the control socket, as `latchkey restore` makes it, but without an Argon2id each time."""

from support.backupreader import HEADER
from support.control import LIVE, Control, packet
from support.wire import MESSAGES

PASSPHRASE_KEY, BEGIN_BACKUP, BEGIN_RESTORE, GIVE_CHUNK, REPORT = (
    MESSAGES[name] for name in ("PassphraseKey", "BeginBackup", "BeginRestore", "GiveChunk", "FinishArchive"))
# A bit of BeginRestore's flags.
TAKING_THEIRS = 1


class Restoring:
    """The content of a backup, and the key from its passphrase."""

    def __init__(self, content, key):
        self._header, self._chunks = content[:HEADER], []
        at = HEADER
        while at < len(content):
            size = int.from_bytes(content[at : at + 4], "little")
            self._chunks.append(content[at + 4 : at + 4 + size])
            at += 4 + size
        self._key = key

    def run(self, session):
        """Restores the backup. The backup's secrets replace different secrets in the vault. Returns whether the daemon
        reported success."""
        control, helper = Control(session, user=False), Control(session, user=False)
        try:
            prompt = control.ask(packet(BEGIN_RESTORE, bytes([TAKING_THEIRS]) + self._header))
            if prompt[:2] != packet(BEGIN_BACKUP):  # both replies have the same answer
                return False
            if helper.ask_sealed(packet(PASSPHRASE_KEY, prompt[2:] + self._key))[2:3] != bytes([LIVE]):
                return False
            for chunk in self._chunks:
                if control.ask(packet(GIVE_CHUNK, chunk))[:2] != packet(GIVE_CHUNK):
                    return False
            return control.ask(packet(REPORT, bytes(8)))[:2] == packet(REPORT)
        finally:
            control.close()
            helper.close()

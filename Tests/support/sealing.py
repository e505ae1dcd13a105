"""Sealed packets with a secret for the control socket, as docs/developer/protocols.md describes. Version and operation
come first, and then the whole packet in a crypto_box_seal. Debian: python3-nacl.
"""

from nacl.public import PrivateKey, PublicKey, SealedBox

HEAD = 2


def seal(packet, public_key):
    return packet[:HEAD] + SealedBox(PublicKey(public_key)).encrypt(packet)


class OneTimeKey:
    """A key pair for one packet."""

    def __init__(self):
        self._private = PrivateKey.generate()

    @property
    def public(self):
        return bytes(self._private.public_key)

    def open(self, packet):
        opened = SealedBox(self._private).decrypt(packet[HEAD:])
        assert opened[:HEAD] == packet[:HEAD], "sealed as another operation"
        return opened

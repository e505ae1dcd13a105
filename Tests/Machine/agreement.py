"""The key agreement of the Secret Service's encrypted sessions, computed outside the machine. So only this process and
the daemon have the keys.
"""

import secrets

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# RFC 2409, Oakley group 2.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B"
    "302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6"
    "49286651ECE65381FFFFFFFFFFFFFFFF",
    16,
)


class Agreement:
    """The client's side of the key agreement."""

    def __init__(self):
        self._private = secrets.randbits(1000)
        self.public = pow(2, self._private, PRIME).to_bytes(128, "big").hex()

    def keys(self, public):
        """The results of both sides: the shared number, and the AES key from it."""
        shared = pow(int(public, 16), self._private, PRIME).to_bytes(128, "big")
        return {"shared number": shared, "AES key": HKDF(SHA256(), 16, None, b"").derive(shared)}

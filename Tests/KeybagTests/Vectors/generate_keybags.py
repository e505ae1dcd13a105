#!/usr/bin/env python3
"""Makes vectors.json. This implementation of FORMAT.md shares no code with Latchkey.

Everything random is a fixed byte pattern here, so the output is always the same. The tests do not run this program. To run it:

    python3 -m venv /somewhere/else && /somewhere/else/bin/pip install pynacl argon2-cffi
    /somewhere/else/bin/python generate_keybags.py > vectors.json
"""

import json
import struct
from hashlib import blake2b

from argon2.low_level import Type, hash_secret_raw
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_encrypt as xchacha,
    crypto_box,
    crypto_scalarmult_base,
)

MIB = 1 << 20


def u8(n):
    return struct.pack("<B", n)


def u16(n):
    return struct.pack("<H", n)


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def pattern(name, size):
    """Replaces random bytes; the bytes differ for every name."""
    return blake2b(name.encode(), digest_size=size, person=b"latchkey-vectors").digest()


def kdf(key, label, *inputs, size=32):
    message = b""
    for part in (b"latchkey/1/" + label.encode(),) + inputs:
        message += u64(len(part)) + part
    return blake2b(message, key=key, digest_size=size).digest()


def seal(key, plaintext, associated, nonce):
    return nonce + xchacha(plaintext, associated, nonce, key)


def argon2id(password, salt, passes, memory):
    return hash_secret_raw(
        password, salt, time_cost=passes, memory_cost=memory // 1024, parallelism=1, hash_len=32, type=Type.ID, version=19
    )


# --- the keybag


def protector(vault, root, name, password, state, created, retire_after, passes, memory):
    ident = pattern(name + " id", 16)
    salt = pattern(name + " salt", 16)
    derived = argon2id(password, salt, passes, memory)
    commitment = kdf(derived, "protector-commitment", vault, ident)
    wrap = kdf(derived, "protector-wrap", vault, ident)
    associated = u32(1) + vault + ident + u8(1) + salt + u32(passes) + u64(memory)
    sealed = seal(wrap, root, associated, pattern(name + " nonce", 24))
    encoded = u8(1) + u8(state) + ident + u64(created) + u64(retire_after) + salt + u32(passes) + u64(memory)
    encoded += commitment + u16(len(sealed)) + sealed
    values = {"password": password.decode(), "argon2id": derived.hex(), "commitment": commitment.hex(), "wrap": wrap.hex()}
    return encoded, values


def session(vault, name, created, user, number, key):
    """The protector of a login without a password. The device key service unwraps its secret."""
    secret, ident, nonce = pattern(name + " secret", 32), pattern(name + " id", 16), pattern(name + " nonce 2", 24)
    device = service_key(user)
    identity = kdf(device, "device-identity", size=16)
    wrapped = seal(kdf(device, "device-wrap", u8(3)), secret, vault + ident, pattern(name + " nonce 1", 24))
    commitment = kdf(secret, "protector-commitment", vault, ident)
    associated = u32(1) + vault + ident + u8(3) + identity + u32(0) + u64(0)
    associated += u32(number) + kdf(key, "tier-commitment", vault)
    sealed = wrapped + u32(number) + seal(kdf(secret, "session-wrap", vault, ident), key, associated, nonce)
    encoded = u8(3) + u8(1) + ident + u64(created) + u64(0) + identity + u32(0) + u64(0) + commitment
    values = {"id": ident.hex(), "identity": identity.hex(), "wrapped": wrapped.hex(), "secret": secret.hex(), "user": user}
    return encoded + u16(len(sealed)) + sealed, values


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def times(left, right):
    """The product in the field of 32 elements with x^5 + x^2 + 1."""
    product = 0
    for bit in range(5):
        if right >> bit & 1:
            product ^= left << bit
    for bit in range(9, 4, -1):
        if product >> bit & 1:
            product ^= 0b100101 << bit - 5
    return product


def code_text(secret):
    check = kdf(secret + bytes(16), "recovery-check", size=16)
    bits = "".join(f"{byte:08b}" for byte in secret + check[:2])[:140]
    groups = []
    for group in range(7):
        values = [int(bits[at : at + 5], 2) for at in range(20 * group, 20 * group + 20, 5)]
        last = group + 1
        for place, value in enumerate(values):
            last ^= times(value, 2 << place)
        groups.append("".join(ALPHABET[value] for value in values + [last]))
    return "-".join(groups)


def recovery(vault, root, name, created):
    """A recovery code's protector."""
    secret, salt = pattern(name + " secret", 16), pattern(name + " salt", 16)
    encoded, values = sealed_to_public_key(2, vault, root, name, created, secret + salt, salt, b"")
    return encoded, {"code": code_text(secret)} | values


def security_key(vault, root, name, created, credential):
    """A security key's protector. Its answer to the vault's salt is fixed here."""
    answer, salt = pattern(name + " answer", 32), pattern(name + " salt", 16)
    facts = u8(len(name.encode())) + name.encode() + credential
    encoded, values = sealed_to_public_key(6, vault, root, name, created, kdf(answer, "security-key", salt), salt, facts)
    challenge = blake2b(b"latchkey/1/security-key-salt" + vault, digest_size=32).hexdigest()
    return encoded, {
        "answer": answer.hex(), "label": name, "credential": credential.hex(), "party": "latchkey:" + vault.hex(),
        "challenge": challenge,
    }


def sealed_to_public_key(kind, vault, root, name, created, key, salt, facts):
    """A protector whose secret is a private key. The sealed box has a fixed key pair here, and a new pair in the programs."""
    ident = pattern(name + " id", 16)
    commitment = kdf(key, "protector-commitment", vault, ident)
    private = kdf(key, "recovery-private", vault, ident)
    public, single = crypto_scalarmult_base(private), pattern(name + " single", 32)
    theirs = crypto_scalarmult_base(single)
    sealed = public + theirs + crypto_box(root, blake2b(theirs + public, digest_size=24).digest(), public, single)
    attest = kdf(key, "recovery-attest", vault, ident)
    associated = u32(1) + vault + ident + u8(kind) + salt + u32(0) + u64(0)
    sealed += seal(kdf(root, "recovery-hold", vault, ident), attest, associated, pattern(name + " nonce", 24))
    sealed += kdf(attest, "recovery-proof", vault, ident, public, root) + facts
    encoded = u8(kind) + u8(1) + ident + u64(created) + u64(0) + salt + u32(0) + u64(0) + commitment
    values = {"private": private.hex(), "commitment": commitment.hex()}
    return encoded + u16(len(sealed)) + sealed, values


def passwordless(vault, root, name, created, device):
    """The protector of a vault without a password. The device key unwraps its secret."""
    secret, ident = pattern(name + " secret", 32), pattern(name + " id", 16)
    file, key, identity = device
    bound = kdf(key, "device-wrap", u8(1))
    wrapped = seal(bound, secret, vault + ident, pattern(name + " nonce 1", 24))
    commitment = kdf(secret, "protector-commitment", vault, ident)
    wrap = kdf(secret, "protector-wrap", vault, ident)
    associated = u32(1) + vault + ident + u8(4) + identity + u32(0) + u64(0)
    sealed = wrapped + seal(wrap, root, associated, pattern(name + " nonce 2", 24))
    encoded = u8(4) + u8(1) + ident + u64(created) + u64(0) + identity + u32(0) + u64(0) + commitment
    values = {"file": file.hex(), "id": ident.hex(), "identity": identity.hex(), "wrapped": wrapped.hex(), "secret": secret.hex()}
    return encoded + u16(len(sealed)) + sealed, values


def epoch(vault, root, number):
    associated = u32(1) + vault + u32(number)
    sealed, commitments, keys = b"", b"", {}
    for tier in ("A", "C"):
        key = pattern(f"epoch {number} {tier}", 32)
        wrap = kdf(root, "tier-wrap", vault, tier.encode())
        sealed += seal(wrap, key, associated, pattern(f"epoch {number} {tier} nonce", 24))
        commitments += kdf(key, "tier-commitment", vault)
        keys[tier] = key.hex()
    return u32(number) + sealed + commitments, keys


def keybag(vault, generation, created, root, protectors, epochs):
    body = b"LATCHKEY" + u32(1) + vault + u64(generation) + u64(created)
    body += u8(len(protectors)) + b"".join(protectors) + u8(len(epochs)) + b"".join(epochs)
    signed = body + kdf(root, "keybag-tag", body)
    return signed + blake2b(signed, digest_size=32).digest()


def created_keybag():
    vault, root = pattern("founded vault", 16), pattern("founded root", 32)
    one, values = protector(vault, root, "founded", "correct horse é".encode(), 0, 1700000000, 0, 3, 32 * MIB)
    tiers, keys = epoch(vault, root, 1)
    return {
        "name": "as created", "vault": vault.hex(), "generation": 1, "created": 1700000000, "root": root.hex(),
        "tierA": keys["A"], "tierC": keys["C"], "passwords": [dict(values, protector=0)],
        "file": keybag(vault, 1, 1700000000, root, [one], [tiers]).hex(),
    }


def rotating_keybag():
    vault, root = pattern("rotating vault", 16), pattern("rotating root", 32)
    old, first = protector(vault, root, "old", b"the old one", 2, 1700000000, 1700604800, 3, 32 * MIB)
    new, second = protector(vault, root, "new", b"the new one", 1, 1700000001, 0, 4, 33 * MIB)
    code, third = recovery(vault, root, "code", 1700000002)
    tiers = [epoch(vault, root, 1), epoch(vault, root, 2)]
    passwordless, fourth = session(vault, "session", 1700000003, 1000, 2, bytes.fromhex(tiers[1][1]["C"]))
    return {
        "name": "two passwords, a recovery code, a session's protector, two epochs", "vault": vault.hex(), "generation": 7,
        "created": 1600000000, "root": root.hex(), "tierA": tiers[1][1]["A"], "tierC": tiers[1][1]["C"],
        "passwords": [dict(first, protector=0), dict(second, protector=3)], "codes": [dict(third, protector=1)],
        "session": dict(fourth, protector=2), "formerA": tiers[0][1]["A"], "formerC": tiers[0][1]["C"],
        "file": keybag(
            vault, 7, 1600000000, root, [old, code, passwordless, new], [encoded for encoded, _ in tiers]
        ).hex(),
    }


def keyed_keybag():
    vault, root = pattern("keyed vault", 16), pattern("keyed root", 32)
    old, first = protector(vault, root, "keyed", b"a password", 1, 1700000000, 0, 3, 32 * MIB)
    blue, second = security_key(vault, root, "blau-gr\u00fcn", 1700000001, pattern("credential 1", 48))
    red, third = security_key(vault, root, "red", 1700000002, pattern("credential 2", 64) * 16)
    tier, keys = epoch(vault, root, 1)
    return {
        "name": "a password, two security keys", "vault": vault.hex(), "generation": 3, "created": 1700000000,
        "root": root.hex(), "tierA": keys["A"], "tierC": keys["C"], "passwords": [dict(first, protector=0)],
        "securityKeys": [dict(second, protector=1), dict(third, protector=2)],
        "file": keybag(vault, 3, 1700000000, root, [old, blue, red], [tier]).hex(),
    }


def passwordless_keybag():
    vault, root = pattern("passwordless vault", 16), pattern("passwordless root", 32)
    file, key, _, identity = device_key("loose device", None)
    one, first = passwordless(vault, root, "passwordless", 1700000000, (file, key, identity))
    code, second = recovery(vault, root, "passwordless code", 1700000001)
    tiers = [epoch(vault, root, 3), epoch(vault, root, 4)]
    return {
        "name": "the device key alone, a recovery code, two epochs", "vault": vault.hex(), "generation": 4,
        "created": 1700000000, "root": root.hex(), "tierA": tiers[1][1]["A"], "tierC": tiers[1][1]["C"],
        "passwords": [], "codes": [dict(second, protector=1)], "device": dict(first, protector=0),
        "formerA": tiers[0][1]["A"], "formerC": tiers[0][1]["C"],
        "file": keybag(vault, 4, 1700000000, root, [one, code], [encoded for encoded, _ in tiers]).hex(),
    }


# --- device.key


def device_key(name, machine):
    secret, erasable = pattern(name + " secret", 32), pattern(name + " erasable", 32)
    content = b"LATCHDEV" + u32(1) + u8(0 if machine is None else 1) + secret + erasable
    mixed = () if machine is None else (machine,)
    file = content + blake2b(content, digest_size=32).digest()
    return file, kdf(secret, "device-wrap", *mixed), erasable, kdf(secret, "device-identity", *mixed, size=16)


def device(name, machine):
    file, key, erasable, identity = device_key(name, machine)
    context, share = pattern(name + " vault", 16), pattern(name + " share", 32)
    return {
        "file": file.hex(),
        "machine": None if machine is None else machine.hex(),
        "identity": identity.hex(),
        "context": context.hex(),
        "share": share.hex(),
        "bound": seal(kdf(key, "device-wrap", u8(1)), share, context, pattern(name + " nonce 1", 24)).hex(),
        "erasable": seal(
            kdf(key, "device-wrap", u8(2), erasable), share, context, pattern(name + " nonce 2", 24)
        ).hex(),
    }


# --- the device key service


def state_file(magic, content):
    content = magic + u32(1) + content
    return (content + blake2b(content, digest_size=32).digest()).hex()


def service_key(user):
    return kdf(pattern("service secret", 32), "device-user", u32(user), pattern(f"service {user} salt", 32))


def service(user):
    name = f"service {user}"
    secret, salt, erasable = pattern("service secret", 32), pattern(name + " salt", 32), pattern(name + " erasable", 32)
    context, share = pattern(name + " vault", 16), pattern(name + " share", 32)
    key = service_key(user)
    return {
        "user": user,
        "device": state_file(b"LATCHDVS", u8(1) + secret),
        "salt": state_file(b"LATCHUSR", u32(user) + salt),
        "erasableSecret": state_file(b"LATCHERS", u32(user) + erasable),
        "identity": kdf(key, "device-identity", size=16).hex(),
        "context": context.hex(),
        "share": share.hex(),
        "bound": seal(kdf(key, "device-wrap", u8(1)), share, context, pattern(name + " nonce 1", 24)).hex(),
        "erasable": seal(
            kdf(key, "device-wrap", u8(2), erasable), share, context, pattern(name + " nonce 2", 24)
        ).hex(),
        "session": seal(kdf(key, "device-wrap", u8(3)), share, context, pattern(name + " nonce 3", 24)).hex(),
    }


# --- the parts by themselves

LABELS = """protector-wrap protector-commitment recovery-private recovery-attest recovery-hold recovery-proof recovery-check
security-key session-wrap tier-wrap keybag-tag tier-commitment collection-chain collection next-collection index-wrap collection-label
passphrase-wrap passphrase-commitment class-wrap metadata-wrap public-key-tag locked-item-tag attribute-token
attribute-set-token alias-token device-wrap device-identity device-user item-passphrase access-log backup-stream
backup-commitment backup-device-wrap""".split()


def derivations():
    key = bytes(range(32))
    for label in LABELS:
        for inputs in ((), (b"",), (pattern("input 1", 16), b"A"), (b"ab", b"", b"c" * 130)):
            for size in (32, 16):
                yield {
                    "label": "latchkey/1/" + label, "key": key.hex(), "inputs": [part.hex() for part in inputs],
                    "output": kdf(key, label, *inputs, size=size).hex(),
                }


def aeads():
    for size in (0, 1, 32, 1000):
        key, plaintext = pattern("aead key", 32), b"\xa5" * size
        for associated in (b"", b"latchkey/1"):
            yield {
                "key": key.hex(), "plaintext": plaintext.hex(), "associated": associated.hex(),
                "sealed": seal(key, plaintext, associated, pattern("aead nonce", 24)).hex(),
            }


def passwords():
    for password, passes, memory in (("password", 3, 32 * MIB), ("", 1, 8192), ("é\n", 2, MIB), ("p" * 4096, 1, 65536)):
        salt = pattern("salt", 16)
        yield {
            "password": password.encode().hex(), "salt": salt.hex(), "passes": passes, "memory": memory,
            "output": argon2id(password.encode(), salt, passes, memory).hex(),
        }


if __name__ == "__main__":
    vectors = {
        "kdf": list(derivations()),
        "aead": list(aeads()),
        "argon2id": list(passwords()),
        "checksum": [{"input": (b"x" * n).hex(), "output": blake2b(b"x" * n, digest_size=32).hexdigest()} for n in (0, 1, 500)],
        "keybags": [created_keybag(), passwordless_keybag(), keyed_keybag(), rotating_keybag()],
        "devices": [device("bound device", pattern("machine", 16)), device("loose device", None)],
        "services": [service(1000), service(65534)],
    }
    print(json.dumps(vectors, indent=1, ensure_ascii=True))

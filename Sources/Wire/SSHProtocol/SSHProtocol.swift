// SSHProtocol: the messages of ssh's agent protocol, and keys of ssh.
//
// The agent protocol is RFC 9987, with OpenSSH's extensions. ``AgentMessage`` has its numbers.
// ``PublicKey`` and ``PrivateKey`` are keys in the form of the protocol, and ``KeyFile`` is OpenSSH's
// file of a key. ``KeyItem`` is a key in the form of an item of the vault: the public part is an
// attribute, and the file is the secret.
//
//     let contents = try KeyFile.decode(file.bytes)
//     let signature = contents.key.sign(message, flags)
//
// ``SSHReader`` and ``SSHWriter`` read and write fields (RFC 4251). ``KeyConstraints``,
// ``DestinationConstraint`` and ``SessionBindings`` decide whether a key may be used by a connection.
// ``SigningSubject`` tells from the signed bytes what a signature is for.
//
// The module promises that reading never traps on any input. A reader holds a place and no bytes, so
// secret fields stay in locked memory. A private key whose parts do not belong together is refused. If
// a constraint is unknown, the key is refused, and the constraint is never ignored. libsodium computes
// Ed25519, and libgcrypt computes ECDSA and RSA.
//
// A ``SecurityKey`` signs in its device. ``SecurityKeyHelper`` has the messages of OpenSSH's program
// that speaks to devices, and ``ProviderList`` says which libraries may run in that program.
//
// It does not open sockets, ask persons or use the vault: `latchkey-ssh-agent` does that. It does not
// read a key file that has a passphrase. `latchkey ssh add` has ssh-keygen remove the passphrase, in
// memory. It has no DSA, no smart cards and no SSH transport, because the agent never sees the
// connection for which it signs.

// SSHProtocol: the messages of ssh's agent protocol, and keys of ssh.
//
// The agent protocol is RFC 9987, with OpenSSH's extensions. ``AgentMessage`` has its numbers.
// ``PublicKey`` and ``PrivateKey`` are keys as they travel, and ``KeyFile`` is the file in which
// OpenSSH keeps one. ``KeyItem`` says how a key is an item of the vault: the public part is an
// attribute, the file is the secret.
//
//     let contents = try KeyFile.decode(file.bytes)
//     let signature = contents.key.sign(message, flags)
//
// ``SSHReader`` and ``SSHWriter`` read and write fields (RFC 4251). ``KeyConstraints``,
// ``DestinationConstraint`` and ``SessionBindings`` decide whether a key may be used by a connection.
// ``SigningSubject`` tells from the signed bytes what a signature is for.
//
// The module promises that reading never traps on any input. A reader holds a place and no bytes, so
// secret fields stay ranges of locked memory. A private key whose parts do not fit each other is
// refused. A constraint that is unknown here refuses the key, and is never ignored. Ed25519 is
// libsodium's, and ECDSA and RSA are libgcrypt's.
//
// The key of a ``SecurityKey`` signs in its device. ``SecurityKeyHelper`` has the messages of OpenSSH's
// program that speaks to devices, and ``ProviderList`` says which libraries may run in that program.
//
// It does not open sockets, ask persons or reach the vault: `latchkey-ssh-agent` does. It does not read
// a key file with a passphrase. `latchkey ssh add` has ssh-keygen remove that, in memory. It has no
// DSA, no smart cards and no SSH transport: the agent never sees the connection that a signature is
// for.

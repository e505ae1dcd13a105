// SecretClient: a client's connection to the Secret Service on the session bus.
//
// The command line, the ssh agent, `latchkey-kwallet` and the client library for Swift programs all use
// this module to reach items, in the same way as any other program. ``ServiceConnection`` is a
// connection with its own event loop. ``SecretChannel`` is an encrypted session on it. ``Secret`` is a
// secret with its content type, and ``SecretText`` a text with secrets in it that grows.
//
//     let connection = try ServiceConnection()
//     let channel = try SecretChannel(connection)
//     let secret = try channel.read(from: answer)
//
// The module promises that it does not trust a bus name. It asks the bus for the name's owner, and
// checks that the owner is Latchkey and runs as this user or root. From then on it talks to the owner's
// unique name. So a program that takes the bus name later gets nothing. Secrets cross the bus
// encrypted, and both ends keep them in locked memory. It drops a session whose shared secret begins
// with zeros, because implementations disagree about such a secret.
//
// It does not work in the background: each call waits for its answer, so only one thread at a time may
// use it, and the daemon may not. It does not prompt: callers decide whether a locked item may cause a
// prompt. It can check only the vault's user and program file, because the bus knows no more.
// ``LockFailureNotice`` tells once if a secret could not be locked in memory.

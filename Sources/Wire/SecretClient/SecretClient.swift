// SecretClient: a client's way to the Secret Service on the session bus.
//
// The command line, the ssh agent, `latchkey-kwallet` and the client library for Swift programs all
// reach items in this way, which is the way of every other program. ``ServiceConnection`` is a
// connection with an event loop of its own. ``SecretChannel`` is an encrypted session on it. ``Secret``
// is a secret with its content type, and ``SecretText`` a text with secrets in it that grows.
//
//     let connection = try ServiceConnection()
//     let channel = try SecretChannel(connection)
//     let secret = try channel.read(from: answer)
//
// The module promises that it believes no name. It asks the bus who owns the name, checks that the
// owner is this user's or root's Latchkey, and from then on talks to the owner's unique name. A program
// that takes the name later gets nothing. Secrets cross the bus encrypted, and both ends keep them in
// locked memory. A session whose shared secret begins with zeros is thrown away, because other programs
// disagree about it.
//
// It does not wait in the background: each call waits for its answer, so it is for one thread at a time
// and not for the daemon. It does not prompt; callers decide whether a locked item may ask the person.
// It cannot authenticate the vault beyond its user and its program file, because the bus knows no more.
// ``LockFailureNotice`` tells once if a secret could not be locked in memory.

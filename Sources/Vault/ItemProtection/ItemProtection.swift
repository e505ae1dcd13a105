// ItemProtection: when an item may be read, and what it requires. This module has no keys.
//
// ``AccessibilityClass`` says in which state of the session the secret of an item can be read. There
// are seven, with Apple's names: `whenUnlocked`, `afterFirstUnlock`, `always`, their *ThisDeviceOnly*
// forms, and `whenPasscodeSetThisDeviceOnly`. ``AccessControl`` says what an item requires on top of
// that: the person's presence, a finger, the login's password, or the item's own passphrase.
// ``PromptEnd`` and ``PromptOutcome`` are the ways in which a prompt ends.
//
//     let needs = AccessControl(conditions: [.userPresence], combination: .all)
//     let both = AccessibilityClass.whenUnlocked.joined(with: .afterFirstUnlock)
//
// The daemon, the command line and the client library for Swift programs all need these words. The
// client library must link no key code into other people's programs, so the words are a module of their
// own.
//
// The module promises that raw values never change: they are in rows, in backups and on sockets.
// `joined` is never weaker than either of its two classes. Bits that are unknown here are refused, and
// never ignored.
//
// It does not protect anything. The module Vault derives keys by these classes and checks conditions
// before it opens a secret. It does not say what a class means in each case: docs/user/classes.md has
// that table, and a test compares it with a real daemon. It imports no other module, not even Bytes.

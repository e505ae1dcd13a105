// LogControl: the messages of the access log on the control socket.
//
// `latchkey log` reads the log, and `latchkey log --clear` removes its entries. ``GetAccessLog`` asks
// for the entries before a number, newest first, and ``AccessLogPage`` is the answer.
// ``ClearAccessLog`` removes them all and answers how many there were.
//
//     let lines = try client.accessLog(limit: 50, until: deadline)
//
// `accessLog(limit:until:)` asks for one page after the other, until it has enough entries or there are
// no more.
//
// The module promises that a page fits into a packet however long its texts are, because it has at most
// ``AccessLogPage/limit`` entries. If an entry was changed on the disk, it arrives with its number and
// its time, but without an event. An entry says how many entries before it are missing. Even if
// somebody reverses the numbers in the log, the client does not ask for ever.
//
// It does not decide who may read the log: the daemon declines while the vault is locked. It does not
// seal or open entries: the module Vault does so with a separate key. An entry has no secrets and no
// attributes.
//
// It is separate from Control, so that `latchkey-derive`, which handles passwords, links nothing of the
// log. docs/developer/protocols.md has the bytes of both messages. A new field goes to the end of an
// entry, and raises the version of the socket.

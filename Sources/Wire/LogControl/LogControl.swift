// LogControl: the messages of the access log on the control socket.
//
// `latchkey log` reads the log, and `latchkey log --clear` removes its entries. ``GetAccessLog`` asks
// for the entries before a number, newest first, and ``AccessLogPage`` is the answer.
// ``ClearAccessLog`` removes them all and answers how many there were.
//
//     let lines = try client.accessLog(limit: 50, until: deadline)
//
// `accessLog(limit:until:)` asks for one page after the other, until it has as many entries as are
// wanted or there are no more.
//
// The module promises that a page fits into a packet however long its texts are, because it has at most
// ``AccessLogPage/limit`` entries. An entry that was changed on the disk arrives as one without an
// event, with its number and its time. An entry says how many before it are missing. A log whose
// numbers somebody turned backwards does not make the client ask for ever.
//
// It does not decide who may read the log: the daemon declines while the vault is locked. It does not
// seal or open entries, which the module Vault does under a key of its own. It has no secrets and no
// attributes, as an entry has none.
//
// It is apart from Control so that `latchkey-derive`, which handles passwords, links nothing of the
// log. docs/developer/protocols.md has the bytes of both messages. A new field would be put at the end
// of an entry, and raises the version of the socket.

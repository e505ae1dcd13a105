// AccessLog: the form of the entries of the access log.
//
// The vault logs who was let into items that require something, and who was not. ``AccessEvent`` is
// such an event: what the program wanted, how it ended, the numbers of item and collection, the item's
// label at that time, and the program's name. ``AccessLogEntry`` is an event as it is read, with its
// number, its time, and how many entries before it are missing.
//
//     var out = ByteWriter(capacity: 128)
//     AccessEvent(.open, .used, item: 7, caller: "firefox").encode(into: &out)
//
// The vault seals the encoded bytes into a row. The control socket carries them to `latchkey log`. Both
// use this module, which is why it is not a part of Vault: the command line needs an entry's form, and
// no database.
//
// The module promises that an event never has a secret or an attribute, that its texts have at most 255
// bytes and are cut between characters, and that decoding any other bytes gives nil. The codes of
// outcomes never change, because logs of earlier versions have them.
//
// It does not seal, number or store entries. `AccessLog` in the module Vault does this work, and bounds the number of entries. It
// does not decide what is logged: `AccessLogService` in the daemon does. The program's name is a hint and no proof, because a
// program of the same user can run as any other.

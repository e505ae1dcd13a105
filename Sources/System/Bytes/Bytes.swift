// Bytes: fields in packets and files, without traps.
//
// A ``ByteReader`` takes fields from bytes that a stranger may have written. Each read checks how much is left. A field that is
// missing throws ``ByteReader/Truncated``, and nothing here traps on any input. A ``ByteWriter`` writes the same fields. Numbers
// are little-endian unless a name says otherwise. A text has its length in front, and is cut between characters if a limit is
// given.
//
//     var out = ByteWriter(capacity: 16)
//     out.number(UInt32(7))
//     var input = ByteReader(out.bytes)
//     let seven: UInt32 = try input.number()
//
// Every format of Latchkey's own is read and written by these two types: the keybag, rows of the
// database, backups, and the packets of all sockets. FORMAT.md and docs/developer/protocols.md have the
// bytes.
//
// The module promises that a reader never reads beyond its bytes, and that a length in the bytes
// reserves no memory before that many bytes are there.
//
// It does not hold secrets. Neither a writer's nor a reader's memory is erased. Secret fields stay in `SecureBytes`, which the
// module Sodium has. It also knows no format: which fields follow each other is the business of the type that is read.

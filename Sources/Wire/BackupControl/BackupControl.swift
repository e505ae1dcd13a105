// BackupControl: the messages of backups and restores on the control socket.
//
// `latchkey backup` and `latchkey restore` own the file, and the daemon owns the vault. Between them
// the bytes of the backup travel in chunks. ``BeginBackup`` and ``BeginRestore`` begin on a connection,
// which is then bound to that work. ``TakeChunk`` asks for the next bytes and ``GiveChunk`` hands over
// some. ``FinishArchive`` ends the work and asks for its result, which comes in pages
// (``ArchivePage``).
//
//     let prompt = try client.ask(BeginBackup(), until: deadline)
//     let chunk = try client.ask(TakeChunk(), until: deadline)
//
// The module promises that an archive ends with its connection: a client that is killed leaves nothing
// behind in the daemon. The bytes of a chunk are not secret without the backup's passphrase, so they
// need no locked memory. A page has as many lines as a packet has room for, and says how many there are
// in all. Nothing is written by a restore before ``FinishArchive``.
//
// It does not carry the passphrase. The answer to the first message names a prompt, and
// `latchkey-derive` brings the key as for any other prompt. It does not know the format of a backup,
// which is the module Backup's, and it does not look into a chunk. It is apart from Control so that no
// program that handles passwords links the format of backups.
//
// docs/developer/protocols.md has the bytes of each message.

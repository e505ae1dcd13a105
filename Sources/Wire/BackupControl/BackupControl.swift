// BackupControl: the messages of backups and restores on the control socket.
//
// `latchkey backup` and `latchkey restore` own the file, and the daemon owns the vault. The
// backup's bytes travel between them in chunks. ``BeginBackup`` and ``BeginRestore`` begin the work
// on a connection, which then serves only this work. ``TakeChunk`` asks for the next bytes of a
// backup, and ``GiveChunk`` hands over the next bytes of a restore. ``FinishArchive`` ends the work
// and asks for its result, which comes in pages (``ArchivePage``).
//
//     let prompt = try client.ask(BeginBackup(), until: deadline)
//     let chunk = try client.ask(TakeChunk(), until: deadline)
//
// The module promises that an archive ends with its connection: a client that is killed leaves
// nothing behind in the daemon. The bytes of a chunk reveal nothing without the backup's
// passphrase, so they need no locked memory. A page has as many lines as fit into a packet, and the
// total numbers. A restore writes nothing before ``FinishArchive``.
//
// It does not carry the passphrase. The answer to the first message names a prompt, and
// `latchkey-derive` brings the key as for any other prompt. It does not know the format of a
// backup, which the module Backup defines, and it does not look into a chunk. It is separate from
// Control, so that programs that handle passwords do not link the format of backups.
//
// docs/developer/protocols.md has the bytes of each message.

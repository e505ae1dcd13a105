// Backup: the format of a backup file.
//
// A backup has the whole content of a vault, encrypted with its own passphrase. So it can be opened
// even if the whole machine is lost. ``BackupWriter`` makes the bytes, and ``BackupReader`` reads them.
// ``BackupRecord`` is one record: the beginning, a collection, an item, the end. ``BackupHeader`` says
// how the passphrase becomes a key.
//
//     writer.put(record)
//     while let chunk = writer.chunk() { send(chunk) }
//
// Both work chunk by chunk and hold one chunk and one record at a time. A backup may therefore be
// larger than the memory. ``BackupSeal`` seals the parts of items that are bound to a device once more,
// under a key that only their device unwraps. ``ArchiveReport`` has the outcome for each item.
//
// The module promises to find a changed byte and to name its place. It notices if a chunk is missing,
// doubled, moved or added after the end. A commitment in the header distinguishes a wrong passphrase
// from damage. A reader ``isWhole`` only if it reached the end, so a cut file is noticed. A header that
// demands too much memory or time is refused at once.
//
// It does not ask for the passphrase or derive the key. It does not read or write a vault: `Export` and
// `Restore` in the module Vault do, and they decide what an item becomes. It does not handle files,
// because the command line owns the file and the daemon sees only chunks. FORMAT.md has every byte.

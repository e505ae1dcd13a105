import LatchkeyBackup
import LatchkeyReasons

/// The collection of the vault that gets the items of one of the backup's collections.
final class RestoreTarget {
  let label: String
  let aliases: BackupCollection.Aliases
  /// The collection; nil if nothing can be stored there, and for a new collection that does not exist yet.
  var collection: OpenCollection?
  let obstacle: Reason?
  /// The backup's record for a new collection; nil for an existing collection.
  let theirs: BackupCollection?
  /// The uuid of a new collection.
  let uuid: [UInt8]

  var isNew: Bool { theirs != nil }

  init(_ collection: OpenCollection?, _ theirs: BackupCollection, label: String? = nil, obstacle: Reason?) {
    self.label = label ?? ArchiveReport.Line.cut(theirs.label)
    aliases = theirs.aliases
    (self.collection, self.obstacle) = (collection, obstacle)
    (self.theirs, uuid) = (nil, [])
  }

  init(_ theirs: BackupCollection, newWith uuid: [UInt8]) {
    (label, aliases, obstacle) = (theirs.label, theirs.aliases, nil)
    (self.theirs, self.uuid) = (theirs, uuid)
  }
}

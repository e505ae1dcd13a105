import Glibc
import LatchkeyPosix
import LatchkeyText

/// The changes of a switch, with the former files. The record is written before the first change, and removed when the last
/// change was put back.
struct SwitchRecord: Codable, Equatable {
  private var version = 1
  /// The changes, in the order in which they are made.
  var changes: [FileChange] = []
  /// Folders that did not exist before, outermost first.
  var folders: [String] = []

  var isEmpty: Bool { changes.isEmpty }

  /// The limit. The record has the former and the new text of each file, in Base64.
  private static let sizeLimit = 64 * OwnedFiles.sizeLimit

  /// The record of a person or of the machine; empty if there is no record.
  static func read(_ files: OwnedFiles, _ scope: SwitchScope) throws(SwitchError) -> SwitchRecord {
    let path = scope.record
    do {
      let state = try files.state(path, limit: sizeLimit)
      if state == .absent { return SwitchRecord() }
      // A link is not our record. If it were taken for a missing record, a switch would replace the link, and forget its target.
      guard case .file(let bytes, _) = state else { throw SwitchError.unreadableRecord(path) }
      let record = try JSONValue(parsing: bytes).decoded(as: SwitchRecord.self)
      guard record.version == 1 else { throw SwitchError.unreadableRecord(path) }
      return record
    } catch { throw .unreadableRecord(path) }
  }

  /// Writes the record to the disk.
  func write(_ files: OwnedFiles, _ scope: SwitchScope) throws(SwitchError) {
    let path = scope.record
    do {
      let bytes = Array(try JSONValue(self).text(isPretty: false).utf8)
      // A record that could not be read again could put nothing back.
      guard bytes.count <= Self.sizeLimit else { throw PosixError("write", code: EFBIG) }
      for folder in files.missingFolders(above: path) { try files.makeFolder(folder) }
      try files.put(.file(bytes: bytes, mode: 0o600), at: path)
    } catch let error as PosixError {
      throw .file(path, error)
    } catch {
      throw .unreadableRecord(path)
    }
  }

  /// Removes the record from the disk, with the folders that were made for it.
  func remove(_ files: OwnedFiles, _ scope: SwitchScope) throws(SwitchError) {
    let path = scope.record
    do throws(PosixError) {
      try files.removeLeftover(of: path)
      try files.put(.absent, at: path)
      for folder in folders.sorted(by: { $0.utf8.count > $1.utf8.count }) { try files.removeEmptyFolder(folder) }
    } catch { throw .file(path, error) }
  }
}

/// Why a switch did not finish. The record has the switch's changes, so the switch can run again, in either direction.
public enum SwitchError: Error, Equatable {
  /// A file could not be changed.
  case file(String, PosixError)
  /// The record cannot be read.
  case unreadableRecord(String)
  /// Another program changed a file after it was checked.
  case changedMeanwhile(String)
  /// Another run has not ended.
  case busy
}

import Glibc
import LatchkeyReasons

/// One file of rules, with the rules that were last read from it.
struct WatchedRules {
  private let path: String
  private let owner: uid_t
  private let mustExist: Bool
  private var stamp: Stamp?
  private var wasRead = false
  /// The rules in force: the last rules of the file without an error.
  private(set) var file: RulesFile?
  /// The problem with the present file.
  private(set) var problem: Reason?

  init(_ path: String, owner: uid_t, mustExist: Bool) {
    self.path = path
    self.owner = owner
    self.mustExist = mustExist
  }

  /// Reads the file if it changed since the last reading. If it did not, this costs one system call.
  ///
  /// - Returns: whether the file was read.
  mutating func refresh() -> Bool {
    let now = Stamp(path)
    guard !wasRead || now != stamp else { return false }
    (wasRead, stamp) = (true, now)
    do throws(RulesError) {
      file = try RulesFile.load(path, owner: owner)
      problem =
        file == nil && mustExist ? .both(.because(.verbatim(path), .rules(.missing)), .rules(.installAgain)) : nil
    } catch {
      let rest = file == nil ? RulesReason.noneInForce : .formerInForce
      problem = .rulesStay(error.reason, .rules(rest))
    }
    return true
  }
}

/// Distinguishes a changed file from an unchanged one. Nil means a missing file.
private struct Stamp: Equatable {
  private let numbers: [Int]

  init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    // The time of the last change of content, mode or owner. No program can set it back.
    numbers = [
      Int(bitPattern: UInt(status.st_dev)), Int(bitPattern: UInt(status.st_ino)), Int(status.st_size),
      status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
    ]
  }
}

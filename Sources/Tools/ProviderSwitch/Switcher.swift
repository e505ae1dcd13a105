import Glibc
import LatchkeyDoctor
import LatchkeyPosix

/// Makes the changes of a switch and puts them back. After an interruption, another run in either direction continues from there.
struct Switcher {
  let files: OwnedFiles
  let scope: SwitchScope

  /// Puts back the changes of the other direction, and makes `changes`, the remaining changes of this direction.
  ///
  /// - Returns: the changes that were not put back, because somebody changed the file meanwhile.
  func run(_ side: FileChange.Side, _ changes: [FileChange]) throws(SwitchError) -> [FileChange] {
    var record = try SwitchRecord.read(files, scope)
    let former = record
    let path = scope.record
    if !changes.isEmpty && record.folders.isEmpty { record.folders = files.missingFolders(above: path) }
    for change in changes {
      try add(change, to: &record)
      for folder in files.missingFolders(above: change.path) where !record.folders.contains(folder) {
        record.folders.append(folder)
      }
    }
    if record != former { try record.write(files, scope) }
    var left: [FileChange] = []
    for change in record.changes.reversed() where change.side != side {
      if try !putBack(change) { left.append(change) }
    }
    for change in changes { try make(change) }
    return try finish(&record, side, left)
  }

  private func finish(
    _ record: inout SwitchRecord, _ side: FileChange.Side, _ left: [FileChange]
  ) throws(SwitchError) -> [FileChange] {
    let former = record
    record.changes.removeAll { change in change.side != side && !left.contains(change) }
    if record.isEmpty {
      try record.remove(files, scope)
      return left
    }
    // Folders that the other direction needed are removed now. The record's own folder and the folders of changes that stay are
    // not empty.
    do throws(PosixError) {
      for folder in record.folders.sorted(by: { $0.utf8.count > $1.utf8.count }) {
        try files.removeEmptyFolder(folder)
      }
    } catch { throw .file(scope.record, error) }
    if record != former { try record.write(files, scope) }
    return left
  }

  /// An entry for a change. An existing entry has the older state, and stays, unless somebody changed the file meanwhile.
  private func add(_ change: FileChange, to record: inout SwitchRecord) throws(SwitchError) {
    guard let place = record.changes.firstIndex(where: { $0.path == change.path }) else {
      record.changes.append(change)
      return
    }
    let known = record.changes[place]
    guard known.before != change.before || known.after != change.after else { return }
    record.changes[place] = change
    // These lines were written by an earlier run and are unchanged. Their former values are put back.
    var kept = known
    kept.settings.removeAll { old in change.settings.contains { $0.section == old.section && $0.key == old.key } }
    guard !kept.settings.isEmpty, let before = kept.puttingBackSettings(in: change.before) else { return }
    record.changes[place].before = change.before == known.after ? known.before : before
    record.changes[place].settings = kept.settings + change.settings
  }

  private func make(_ change: FileChange) throws(SwitchError) {
    let isAsPlanned: Bool
    do throws(PosixError) {
      let now = try files.state(change.path)
      guard now != change.after else { return }
      // Between the plan and this moment another program may have saved its settings.
      isAsPlanned = now == change.before
      if isAsPlanned {
        for folder in files.missingFolders(above: change.path) { try files.makeFolder(folder) }
        try files.put(change.after, at: change.path)
      }
    } catch { throw .file(change.path, error) }
    guard isAsPlanned else { throw .changedMeanwhile(change.path) }
  }

  /// Whether the former state is back now.
  private func putBack(_ change: FileChange) throws(SwitchError) -> Bool {
    do throws(PosixError) {
      let now: FileState
      do throws(PosixError) { now = try files.state(change.path) } catch {
        // The path has a state that this program did not write.
        if [EPERM, ENOTSUP, EFBIG].contains(error.code) { return false }
        throw error
      }
      // This check comes late, because a folder on the way may now belong to another user, and root removes nothing there.
      try files.removeLeftover(of: change.path)
      // A package's upgrade may have put its own file in place of the changed one.
      if now == change.before || change.lacksLine(now) { return true }
      if now == change.after {
        for folder in files.missingFolders(above: change.path) { try files.makeFolder(folder) }
        try files.put(change.before, at: change.path)
        return true
      }
      guard let mixed = change.puttingBackSettings(in: now) else { return false }
      try files.put(mixed, at: change.path)
      return true
    } catch { throw .file(change.path, error) }
  }

  /// The changes of the other direction that would be put back; `isLeft` if somebody changed the file meanwhile.
  func toPutBack(_ side: FileChange.Side) throws(SwitchError) -> [(change: FileChange, isLeft: Bool)] {
    let record = try SwitchRecord.read(files, scope)
    return record.changes.reversed().filter { $0.side != side }.compactMap { change in
      guard let now = try? files.state(change.path) else { return (change, true) }
      if now == change.before || change.lacksLine(now) { return nil }
      return (change, now != change.after && change.puttingBackSettings(in: now) == nil)
    }
  }
}

extension FileChange {
  /// Whether the line that the change added no longer exists, so that nothing is left to put back.
  fileprivate func lacksLine(_ now: FileState) -> Bool {
    guard let line else { return false }
    return now == .absent || now.text.map { !$0.split(separator: "\n").contains(line[...]) } ?? false
  }

  /// The present file, with our lines in their former state; nil if the file has none of our lines any more. Programs rewrite their
  /// settings, so a file seldom stays unchanged.
  func puttingBackSettings(in now: FileState) -> FileState? {
    if let line, let text = now.text, let mode = now.mode {
      var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      guard let place = lines.firstIndex(of: line[...]) else { return nil }
      lines.remove(at: place)
      return .text(lines.joined(separator: "\n"), mode: mode)
    }
    guard !settings.isEmpty, let text = now.text, let mode = now.mode else { return nil }
    var settingsText = SettingsText(text)
    for setting in settings {
      guard settingsText.value(setting.key, in: setting.section) == setting.value else { return nil }
      if let former = setting.former {
        settingsText.set(setting.key, in: setting.section, to: former)
      } else {
        settingsText.remove(setting.key, in: setting.section)
      }
    }
    return .text(settingsText.text, mode: mode)
  }
}

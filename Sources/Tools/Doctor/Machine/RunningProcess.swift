/// The facts about a process that everybody may see.
package struct RunningProcess {
  package let id: Int32
  let parent: Int32
  package let uid: UInt32
  package let name: String
  let arguments: [String]

  /// The processes of a user.
  static func all(of uid: UInt32, in root: SystemRoot) -> [RunningProcess] {
    root.names(in: "/proc").compactMap { Int32($0) }.compactMap { RunningProcess($0, in: root) }.filter {
      $0.uid == uid
    }
  }

  /// Process `id`; nil if the process has ended.
  package init?(_ id: Int32, in root: SystemRoot) {
    var (parent, uid, name): (Int32?, UInt32?, String?) = (nil, nil, nil)
    for line in root.lines("/proc/\(id)/status") {
      let words = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
      guard words.count >= 2 else { continue }
      switch words[0] {
      case "Name:": name = String(words[1])
      case "PPid:": parent = Int32(words[1])
      case "Uid:": uid = words.count >= 3 ? UInt32(words[2]) : nil
      default: break
      }
    }
    guard let parent, let uid, let name else { return nil }
    self.id = id
    self.parent = parent
    self.uid = uid
    self.name = name
    var arguments: [String] = []
    if case .text(let line) = root.content("/proc/\(id)/cmdline") {
      arguments = line.split(separator: "\0").map(String.init)
    }
    self.arguments = arguments
  }

  /// The most memory that the process may lock, in bytes; nil if the limit is unknown, `UInt64.max` without a limit.
  func lockLimit(in root: SystemRoot) -> UInt64? {
    for line in root.lines("/proc/\(id)/limits") where line.hasPrefix("Max locked memory") {
      guard let soft = line.dropFirst("Max locked memory".count).split(separator: " ").first else { return nil }
      return soft == "unlimited" ? .max : UInt64(soft)
    }
    return nil
  }
}

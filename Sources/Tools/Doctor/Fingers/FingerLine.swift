import CLatchkeyHelper

/// The PAM line with which a screen locker lets a finger unlock the vault, and its place in the locker's stack: in front of
/// pam_fprintd.so, which stays.
package struct FingerLine: Equatable {
  /// The place of the line, or the place where it belongs.
  package enum Place: Equatable {
    /// The locker asks for no finger.
    case none
    /// The line is in its place.
    case there
    /// The line is missing from this file, and can be written there.
    case missing(String)
    /// The line is missing, or behind pam_fprintd.so, and other lines of this file have to be understood first.
    case unclear(String)
    /// The locker runs as the person. latchkey-deviced verifies a finger only for root's programs. So a finger opens only this
    /// screen and no vault, with the line or without it.
    case screenOnly
  }

  static let ours = "pam_latchkey.so"
  static let option = "finger"
  private static let readers: Set<String> = ["pam_fprintd.so", "pam_fprintd_grosshack.so", "pam_open_fprintd.so"]

  /// The line. After a finger that opened the vault nothing more is asked. When all tries are used up, the next line would offer
  /// as many again.
  package static let text = "auth\t[success=done maxtries=die default=ignore]\tpam_latchkey.so finger"

  /// Lockers that ask PAM as root. All others ask as the person.
  private static let rootsLockers: Set<String> = ["gdm-fingerprint", "lightdm", "vlock", "physlock"]

  /// The PAM service.
  package let service: String
  /// The place of the line.
  package let place: Place

  /// The lockers of a system that have a file.
  package static func all(in root: SystemRoot) -> [FingerLine] {
    PAMStack.services(in: root).filter { helper_asks_finger($0) }.map { FingerLine($0, in: root) }
  }

  init(_ service: String, in root: SystemRoot) {
    self.service = service
    place = FingerLine.place(service, root)
  }

  private static func place(_ service: String, _ root: SystemRoot) -> Place {
    guard let file = PAMStack.path(of: service, in: root), let stack = try? PAMStack(service, .auth, in: root) else {
      return .none
    }
    let entries = stack.entries
    let own = entries.firstIndex(where: \.asksFinger)
    let first = entries.firstIndex { readers.contains($0.module) }
    if !rootsLockers.contains(service) { return own == nil && first == nil ? .none : .screenOnly }
    guard let reader = first else { return own == nil ? .none : .there }
    if let own { return own < reader ? .there : .unclear(entries[own].file) }
    // In a file that services share, the line would count for sudo and others too. A jump that passes the line would end one line
    // too early. And the line would skip all lines after the reader's, perhaps a second factor.
    let isInReach =
      entries[reader].file == file && entries[reader].depth == 0
      && !entries[..<reader].contains { $0.control.jumps }
      && entries[(reader + 1)...].allSatisfy { entries[reader].control.isDone || $0.control.isOptional }
    return isInReach ? .missing(file) : .unclear(entries[reader].file)
  }

  /// A locker's file with our line before the line of the reader; nil if it has no line of a reader.
  package static func adding(to text: String) -> String? {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let place = lines.firstIndex { line in
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      return words.first.map { $0 == "auth" || $0 == "-auth" } ?? false
        && words.contains { word in readers.contains { word == $0 || word.hasSuffix("/" + $0) } }
    }
    guard let place, !lines[..<place].contains(where: { $0.hasSuffix("\\") }) else { return nil }
    lines.insert(self.text[...], at: place)
    return lines.joined(separator: "\n")
  }
}

extension PAMControl {
  /// Whether an answer of the module skips lines.
  fileprivate var jumps: Bool { has { if case .jump = $0 { true } else { false } } }

  /// Whether the module's success ends the stack.
  fileprivate var isDone: Bool { action(for: .success) == .done }

  /// Whether the stack continues even if the module fails.
  fileprivate var isOptional: Bool {
    [PAMAnswer.refused, .stranger, .unavailable, .ignore].allSatisfy { action(for: $0) == .ignore }
  }
}

import LatchkeyText

/// The rules of the session bus about the name of the Secret Service.
package struct BusPolicy {
  let root: SystemRoot

  package init(root: SystemRoot) { self.root = root }

  /// The first rule against the name, and its file; nil if there is no such rule.
  package var refusal: (path: String, rule: String)? {
    let folders = ["/usr/share/dbus-1/session.d", "/etc/dbus-1/session.d"]
    let files = folders.flatMap { folder in
      root.names(in: folder).filter { $0.hasSuffix(".conf") }.map { "\(folder)/\($0)" }
    }
    for path in files + ["/etc/dbus-1/session.conf", "/etc/dbus-1/session-local.conf"] {
      if let rule = refusal(in: path) { return (path, rule) }
    }
    return nil
  }

  private func refusal(in path: String) -> String? {
    guard case .text(let text) = root.content(path) else { return nil }
    for piece in text.split(separator: "<") where piece.hasPrefix("deny") {
      let tag = piece.prefix { $0 != ">" }
      guard tag.contains(text: NameExamination.name),
        ["own=", "own_prefix=", "send_destination="].contains(where: { tag.contains(text: $0) })
      else { continue }
      return tag.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
    return nil
  }
}

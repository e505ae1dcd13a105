/// Checks which backend sandboxed applications use for their secret after Latchkey stepped aside.
struct PortalExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  private static let interface = "org.freedesktop.impl.portal.Secret"

  func findings() -> [Finding] {
    let id = "portal"
    let units = UnitFiles(root: root, home: facts.home)
    guard let mask = ["latchkeyd.socket", "latchkeyd.service"].lazy.compactMap(units.mask).first else { return [] }
    guard let path = leftovers.first else {
      return [.ok(id, "Latchkey stepped aside, and no portals.conf of yours leads to it")]
    }
    return [
      Finding(
        id, .warning,
        "\(path) leads sandboxed applications to Latchkey for their secret, but \(mask) keeps Latchkey from running",
        fix: .advice(
          "Take the line '\(Self.interface)=latchkey' out of \(path), or run 'latchkey switch --to latchkey'."))
    ]
  }

  /// Files that lead to Latchkey, written by people or by `latchkey switch`.
  private var leftovers: [String] {
    ["\(facts.home)/.config", "/etc/xdg", "/etc"].map { "\($0)/xdg-desktop-portal" }.flatMap { folder in
      root.names(in: folder).filter { $0.hasSuffix("portals.conf") }.sorted().map { "\(folder)/\($0)" }
    }.filter { path in
      let text = SettingsText(root.lines(path).joined(separator: "\n"))
      return text.value(Self.interface, in: "preferred")?.split(separator: ";").first == "latchkey"
    }
  }
}

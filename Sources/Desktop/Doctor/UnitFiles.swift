/// The unit files of user managers, where they are read from.
struct UnitFiles {
  let root: SystemRoot
  /// The person's home folder; nil for the files that all users have.
  let home: String?

  /// The first wins.
  private var folders: [String] {
    (home.map { ["\($0)/.config/systemd/user"] } ?? []) + [
      "/etc/systemd/user", "/run/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
    ]
  }

  /// The file of a unit.
  func path(_ unit: String) -> String? { folders.map { "\($0)/\(unit)" }.first { root.contains($0) } }

  /// The link that keeps a unit from being started; nil where there is none.
  func mask(_ unit: String) -> String? {
    for folder in folders {
      let path = "\(folder)/\(unit)"
      if root.link(path) == "/dev/null" { return path }
      if root.contains(path) { return nil }
    }
    return nil
  }

  /// Whether another unit wants it: whether it is started by itself.
  func isWanted(_ unit: String) -> Bool {
    folders.contains { folder in
      root.names(in: folder).contains { name in
        (name.hasSuffix(".wants") || name.hasSuffix(".requires")) && root.names(in: "\(folder)/\(name)").contains(unit)
      }
    }
  }
}

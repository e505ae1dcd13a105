/// The unit files of user managers, in the folders from which they are read.
package struct UnitFiles {
  let root: SystemRoot
  /// The person's home folder; nil for the files that all users have.
  let home: String?

  package init(root: SystemRoot, home: String?) { (self.root, self.home) = (root, home) }

  /// The folders. The first folder that has the file wins.
  private var folders: [String] {
    (home.map { ["\($0)/.config/systemd/user"] } ?? []) + [
      "/etc/systemd/user", "/run/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
    ]
  }

  /// The file of a unit.
  package func path(_ unit: String) -> String? { folders.map { "\($0)/\(unit)" }.first { root.contains($0) } }

  /// The file of a unit, even if a link keeps the unit from being started.
  func installed(_ unit: String) -> String? {
    folders.map { "\($0)/\(unit)" }.first { root.link($0) != Self.masked && root.contains($0) }
  }

  private static let masked = "/dev/null"

  /// The link that keeps a unit from being started; nil without one.
  package func mask(_ unit: String) -> String? {
    for folder in folders {
      let path = "\(folder)/\(unit)"
      if root.link(path) == Self.masked { return path }
      if root.contains(path) { return nil }
    }
    return nil
  }

  /// Whether another unit wants this unit, so that systemd starts it automatically.
  func isWanted(_ unit: String) -> Bool {
    folders.contains { folder in
      root.names(in: folder).contains { name in
        (name.hasSuffix(".wants") || name.hasSuffix(".requires")) && root.names(in: "\(folder)/\(name)").contains(unit)
      }
    }
  }

  /// The files that say what a service runs, in the order in which they are read: its own, then its drop-ins. If several drop-ins
  /// have the same name, only the one in the first folder counts.
  package func sources(_ unit: String) -> [String] {
    var dropIns: [String: String] = [:]
    for folder in folders {
      for name in root.names(in: "\(folder)/\(unit).d") where name.hasSuffix(".conf") && dropIns[name] == nil {
        dropIns[name] = "\(folder)/\(unit).d/\(name)"
      }
    }
    return (path(unit).map { [$0] } ?? []) + dropIns.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The command lines of files that say what a service runs.
  package func commands(in sources: [String]) -> [String] {
    var commands: [String] = []
    for line in sources.flatMap({ root.lines($0) }) where line.hasPrefix("ExecStart=") {
      let command = line.dropFirst("ExecStart=".count)
      // In a unit file, an empty `ExecStart=` removes the commands of earlier lines.
      if command.isEmpty { commands = [] } else { commands.append(String(command)) }
    }
    return commands
  }
}

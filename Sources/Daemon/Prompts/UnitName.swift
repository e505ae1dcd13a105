/// Reads the program's name from the name of its systemd unit (systemd.io/DESKTOP_ENVIRONMENTS).
enum UnitName {
  /// The application or service of a process in such control groups, by a name that a person may know; nil if it is in no unit
  /// of the user's service manager, or the unit's name says nothing.
  ///
  /// - Parameter groups: the content of `/proc/PID/cgroup`.
  static func application(inControlGroups groups: String) -> String? {
    paths(groups).lazy.compactMap { application(inControlGroup: $0) }.first
  }

  private static func application(inControlGroup path: Substring) -> String? {
    let parts = path.split(separator: "/")
    // Units above the user manager are not the user's: a login session, a system service.
    guard let manager = parts.lastIndex(where: { $0.hasPrefix("user@") && $0.hasSuffix(".service") }) else {
      return nil
    }
    // The last unit counts, because the groups below it were made by the program itself.
    let unit = parts[(manager + 1)...].last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
    return unit.flatMap { application(ofUnit: String($0)) }
  }

  /// The Snap that a process of such control groups belongs to.
  static func snap(inControlGroups groups: String) -> String? {
    let units = paths(groups).flatMap { $0.split(separator: "/") }
      .filter { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
    return units.lazy.compactMap { snap(in: unescaped($0)) }.first
  }

  /// The Snap's name in a label such as "snap.NAME.APP" or a longer one.
  static func snap(in label: String) -> String? {
    let parts = label.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[0] == "snap", !parts[1].isEmpty else { return nil }
    return String(parts[1])
  }

  /// The paths in the unified hierarchy and in systemd's own. Both may exist, and one may be unused.
  private static func paths(_ groups: String) -> [Substring] {
    groups.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3, (fields[0] == "0" && fields[1].isEmpty) || fields[1] == "name=systemd" else {
        return nil
      }
      return fields[2]
    }
  }

  private static func application(ofUnit unit: String) -> String? {
    let isScope = unit.hasSuffix(".scope")
    var name = Substring(unit.dropLast(isScope ? ".scope".count : ".service".count))
    if name.hasPrefix("app-") {
      // app[-LAUNCHER]-ID-RANDOM.scope, app[-LAUNCHER]-ID[@RANDOM].service, the parts without "-" of their own.
      if isScope {
        guard let end = name.lastIndex(of: "-") else { return nil }
        name = name[..<end]
      } else {
        name = name[..<(name.firstIndex(of: "@") ?? name.endIndex)]
      }
      let parts = name.split(separator: "-").dropFirst()
      return parts.last.map { unescaped($0) }
    }
    // Some program chose the scope's name: for a tab of a terminal, a session.
    guard !isScope, !name.isEmpty, !name.hasPrefix("run-") else { return nil }
    if name.hasPrefix("dbus-:") {
      // dbus-:1.2-ID@RANDOM.service, of a service that the bus started.
      name = name[..<(name.firstIndex(of: "@") ?? name.endIndex)]
      return name.split(separator: "-", maxSplits: 2).dropFirst(2).first.map { unescaped($0) }
    }
    return unescaped(name) + ".service"
  }

  /// Without systemd's "\x2d" for "-", and the like.
  static func unescaped(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      let digits = rest.dropFirst().prefix(2)
      if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), digits.first != UInt8(ascii: "+"),
        digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      {
        bytes.append(code)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

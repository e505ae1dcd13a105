import Glibc
import LatchkeyGettext
import LatchkeySystemd

/// The language of the person's desktop. The daemon starts with the login, before the desktop tells the user's service manager its
/// environment. So the manager is asked for the language of each notification.
enum SessionLanguage {
  private static let variables: Set = ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"]

  /// Uses that language, or this process's language if no manager answers.
  ///
  /// - Parameter then: called once the language is set.
  static func take(from bus: Bus, then: @escaping () -> Void) throws(BusError) {
    try bus.callAsync(
      destination: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
      interface: Bus.properties, member: "Get", autoStart: false
    ) { out in
      out.appendString("org.freedesktop.systemd1.Manager")
      out.appendString("Environment")
    } reply: { reply in
      if case .success(let answer) = reply, let values = try? environment(answer) {
        Language.use { values[$0] }
      } else {
        Language.begin()
      }
      then()
    }
  }

  private static func environment(_ answer: Message) throws(BusError) -> [String: String] {
    let lines = try answer.readVariant(.texts)
    var values: [String: String] = [:]
    for line in lines {
      guard let equals = line.firstIndex(of: "="), variables.contains(String(line[..<equals])) else { continue }
      values[String(line[..<equals])] = String(line[equals...].dropFirst())
    }
    return values
  }
}

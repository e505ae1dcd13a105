import LatchkeySystemd

/// A method of `org.kde.KWallet`. KWallet has several methods of one name with different arguments, which D-Bus allows.
struct Member {
  let name: String
  let input: [ObjectInterface.Argument]
  let output: String
  let handler: (MethodCall) throws(BusError) -> Void

  /// - Parameters:
  ///   - input: type and name of each argument, such as `i handle`, separated by commas.
  ///   - output: the type of the answer; empty if the answer has no value.
  init(_ name: String, _ input: String, _ output: String, _ handler: @escaping (MethodCall) throws(BusError) -> Void) {
    self.name = name
    self.input = input.split(separator: ",").map { part in
      let words = part.split(separator: " ")
      return ObjectInterface.Argument(String(words.first ?? ""), String(words.last ?? ""))
    }
    self.output = output
    self.handler = handler
  }

  var signature: String { input.map(\.type).joined() }
  var result: [ObjectInterface.Argument] { output.isEmpty ? [] : [.init(output, "result")] }
}

/// The introspection text of the interface, with all forms of each method. Scripts choose a form by this text.
enum Introspection {
  static let interface = "org.freedesktop.DBus.Introspectable"

  /// - Parameter signals: the name and arguments of each signal.
  static func text(_ name: String, _ members: [Member], _ signals: [ObjectInterface.Signal]) -> String {
    var lines = [
      "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
      " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">",
      "<node>", " <interface name=\"\(interface)\">", "  <method name=\"Introspect\">",
      "   <arg type=\"s\" name=\"data\" direction=\"out\"/>", "  </method>", " </interface>",
      " <interface name=\"\(name)\">",
    ]
    for member in members {
      lines.append("  <method name=\"\(member.name)\">")
      lines += member.input.map { "   <arg type=\"\($0.type)\" name=\"\($0.name)\" direction=\"in\"/>" }
      lines += member.result.map { "   <arg type=\"\($0.type)\" name=\"\($0.name)\" direction=\"out\"/>" }
      if member.output == "a{sv}" {
        lines.append("   <annotation name=\"org.qtproject.QtDBus.QtTypeName.Out0\" value=\"QVariantMap\"/>")
      }
      lines.append("  </method>")
    }
    for signal in signals {
      lines.append("  <signal name=\"\(signal.name)\">")
      lines += signal.arguments.map { "   <arg type=\"\($0.type)\" name=\"\($0.name)\"/>" }
      lines.append("  </signal>")
    }
    return (lines + [" </interface>", "</node>", ""]).joined(separator: "\n")
  }
}

extension Bus {
  /// The name of the desktop's notifications on the session bus, which is their interface too.
  public static let notifications = "org.freedesktop.Notifications"
  private static let notificationsPath = "/org/freedesktop/Notifications"

  /// Asks the desktop for a notification. The call starts no program: a program that starts now would show notifications instead of
  /// the desktop, which starts later.
  ///
  /// - Parameters:
  ///   - click: the name of a click on the notification; nil for a notification that nobody clicks on.
  ///   - program: the name of the desktop file of the program that a click opens.
  ///   - reply: gets the answer, which is the notification's number.
  public func notify(
    _ title: String, _ text: String, click: String? = nil, program: String? = nil,
    reply: @escaping (Result<Message, BusError>) -> Void
  ) throws(BusError) {
    try callAsync(
      destination: Self.notifications, path: Self.notificationsPath, interface: Self.notifications, member: "Notify",
      autoStart: false
    ) { out in
      out.appendString("Latchkey")
      out.appendUInt32(0)
      out.appendString("dialog-password")
      out.appendString(title)
      out.appendString(text)
      // No button: a click on the notification itself.
      out.appendStrings(click.map { ["default", $0] } ?? [])
      out.appendDictionary("sv") { all in
        if let program { all.appendProperty("desktop-entry", "s") { $0.appendString(program) } }
      }
      out.appendInt32(-1)
    } reply: {
      reply($0)
    }
  }

  /// Removes a notification from the screen.
  public func closeNotification(_ number: UInt32) {
    try? callAsync(
      destination: Self.notifications, path: Self.notificationsPath, interface: Self.notifications,
      member: "CloseNotification", autoStart: false
    ) {
      $0.appendUInt32(number)
    } reply: { _ in
    }
    flush()
  }
}

import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// One application's call for its secret, until it is answered. It belongs to the caller, the portals' frontend, and ends when the
/// caller ends.
final class PortalRequest {
  /// The object that the frontend calls.
  static let portal = "/org/freedesktop/portal/desktop"

  /// Whether the path can name a request. Every path is possible, except the paths of this service's objects.
  static func isHandle(_ path: String) -> Bool {
    path != ObjectPath.none && path != portal && path != VaultObject.path && path != ObjectPath.root
      && !path.hasPrefix(ObjectPath.root + "/")
  }

  /// The frontend chooses the handle. Other callers may choose the same one, without disturbing its requests.
  struct Key: Hashable {
    /// The unique bus name of the caller.
    let owner: String
    let handle: String
  }

  /// The reply to the frontend (org.freedesktop.portal.Request, "Response").
  enum Response: UInt32 {
    case success = 0
    case cancelled = 1
    case other = 2
  }

  let key: Key
  let application: String
  /// Whether the person was asked for the login password, once.
  var wasAsked = false
  /// The request's place in the queue, while the person is asked.
  var ticket: PromptTicket?
  private let call: MethodCall
  private var outlet: Outlet?
  /// The secret, once it was found and is being written.
  private var secret: OpenedSecret?
  private var written = 0
  private var deadline: EventSource?
  private var room: EventSource?

  /// - Parameter outlet: the way out for the secret.
  init(_ key: Key, application: String, call: MethodCall, outlet: Outlet) {
    self.key = key
    self.application = application
    self.call = call
    self.outlet = outlet
  }

  deinit { release() }

  /// The loop drops the descriptor before the descriptor is closed. In the other order, the kernel would still report the file,
  /// because the application has it too.
  private func release() {
    (deadline, room) = (nil, nil)
    (outlet, secret) = (nil, nil)
  }

  /// Calls `expired` if the request still waits after `time`. A limit that was set before stays as it is.
  func limit(to time: Duration, on loop: EventLoop, expired: @escaping () -> Void) throws(SystemdError) {
    if deadline == nil { deadline = try loop.addTimer(after: time, handler: expired) }
  }

  /// Whether the request waits for its secret.
  var isWaiting: Bool { secret == nil && outlet != nil }

  /// Writes the secret, now and each time that the descriptor can take more of it. Calls `ended` at the end.
  func deliver(_ found: OpenedSecret, on loop: EventLoop, ended: @escaping (Response) -> Void) {
    guard isWaiting, let outlet else { return }
    secret = found
    if let response = write() { return ended(response) }
    room = try? loop.addIO(fd: outlet.number, events: .writable) { [weak self] _ in
      if let response = self?.write() { ended(response) }
    }
    if room == nil { ended(.other) }
  }

  /// - Returns: nil while there is more to write.
  private func write() -> Response? {
    guard let outlet, let secret else { return .other }
    do throws(PosixError) {
      written += try PortalRequest.write(secret.secret, from: written, to: outlet)
    } catch { return .other }
    return written == secret.secret.count ? .success : nil
  }

  /// - Returns: the number of written bytes.
  private static func write(
    _ secret: borrowing SecureBytes, from start: Int, to outlet: Outlet
  ) throws(PosixError) -> Int {
    let bytes = secret.bytes
    var written = 0
    while start + written < secret.count {
      let count = try outlet.write(bytes.extracting(droppingFirst: start + written))
      if count == 0 { break }
      written += count
    }
    return written
  }

  /// Closes the outlet, and answers.
  func end(_ response: Response) {
    release()
    call.reply { out in
      out.appendUInt32(response.rawValue)
      out.open("a", "{sv}")
      out.close()
    }
  }

  /// Whether the text can be an application's id: an id of Flatpak or Snap, or the frontend's name for the unit of a program
  /// outside any sandbox. The frontend gives an empty id for programs that it cannot identify.
  static func isApplicationID(_ text: String) -> Bool {
    text.utf8.count <= 255 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
  }
}

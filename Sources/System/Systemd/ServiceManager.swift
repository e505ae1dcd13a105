import CLatchkeySystemd
import Glibc

/// The service manager that started this program, if one did.
public enum ServiceManager {
  /// Tells the manager a state, such as `READY=1` or `STATUS=…`, one assignment per line. Nothing happens without a manager.
  public static func notify(_ state: String) { sd_notify(0, state) }

  /// Whether there is a manager to tell.
  public static var isPresent: Bool { getenv("NOTIFY_SOCKET") != nil }

  /// Makes the manager keep a copy of an open descriptor, and pass the copy when it starts this program again (`FDSTORE=1`).
  ///
  /// - Returns: whether the request was sent. The manager gives no answer.
  public static func keep(_ descriptor: Int32, as name: String) -> Bool {
    withUnsafePointer(to: descriptor) {
      sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=\(name)", $0, 1) > 0
    }
  }

  /// Makes the manager close the descriptors that it keeps under a name.
  public static func drop(_ name: String) { notify("FDSTOREREMOVE=1\nFDNAME=\(name)") }

  /// A socket that the service manager opened before it started this program.
  public struct ListenDescriptor: Equatable, Sendable {
    /// The descriptor, with close-on-exec. The caller closes it.
    public let fd: Int32
    /// `FileDescriptorName=` of the unit; by default the name of the socket unit.
    public let name: String
  }

  /// The sockets that the manager passed, in the order of the unit's lines, and then the descriptors that it kept. Empty if the
  /// service manager passed no descriptor to this process. It removes the sockets from the environment, so a second call returns
  /// nothing.
  public static func listenDescriptors() throws(SystemdError) -> [ListenDescriptor] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = try SystemdError.check(sd_listen_fds_with_names(1, &names), "take the sockets of the service manager")
    defer {
      if let names {
        for index in 0..<Int(count) { free(names[index]) }
        free(names)
      }
    }
    return (0..<count).map { index in
      let name = names?[Int(index)].map { String(cString: $0) } ?? ""
      return ListenDescriptor(fd: SD_LISTEN_FDS_START + index, name: name)
    }
  }
}

import Glibc

/// Where the control socket is.
public enum ControlSocket {
  /// The runtime folder of a user.
  public static func runtimeFolder(uid: uid_t) -> String { "/run/user/\(uid)" }

  /// The folder of the socket, below the runtime folder.
  public static func folder(runtime: String) -> String { runtime + "/latchkey" }

  /// The socket itself.
  public static func path(runtime: String) -> String { folder(runtime: runtime) + "/control" }
}

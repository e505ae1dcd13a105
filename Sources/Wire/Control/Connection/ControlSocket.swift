import Glibc
import LatchkeyPosix

/// The path of the control socket.
public enum ControlSocket {
  /// The runtime folder of a user.
  public static func runtimeFolder(uid: uid_t) -> String { "/run/user/\(uid)" }

  /// The folder of the socket, below the runtime folder.
  public static func folder(runtime: String) -> String { runtime + "/latchkey" }

  /// The socket itself.
  public static func path(runtime: String) -> String { folder(runtime: runtime) + "/control" }

  /// The reason why a daemon cannot listen.
  public enum Failure: Error, Equatable, Sendable {
    /// Another daemon of this user has the socket, or a service manager listens there to start a daemon.
    case isServed(path: String)
    /// The path is a file that is not a socket.
    case isOtherFile(path: String)
    /// The folder or the socket cannot be made, or others can write to the folder.
    case system(PosixError)
  }

  /// Makes the socket, if a service manager passed none.
  ///
  /// - Parameter owner: the user. They must own the folder, so that nobody else can put another socket into it.
  public static func listen(runtime: String, owner: uid_t) throws(Failure) -> LocalSocket {
    let path = Self.path(runtime: runtime)
    do throws(PosixError) {
      guard mkdir(folder(runtime: runtime), 0o700) == 0 || errno == EEXIST else { throw PosixError("mkdir") }
      _ = try Folder(path: folder(runtime: runtime), owner: owner)
      return try LocalSocket.listen(at: path)
    } catch {
      guard error.code == EADDRINUSE else { throw .system(error) }
      var file = stat()
      let isOther = lstat(path, &file) == 0 && file.st_mode & S_IFMT != S_IFSOCK
      throw isOther ? Failure.isOtherFile(path: path) : Failure.isServed(path: path)
    }
  }
}

import Glibc

/// The parts of a path.
enum FilePath {
  /// The absolute path; the path unchanged if the current folder was deleted or cannot be reached.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    let current = String(cString: folder)
    guard current.hasPrefix("/") else { return path }
    return current + (current == "/" ? "" : "/") + path
  }

  /// The folder that contains the path.
  static func folder(of path: String) -> String {
    let whole = trimmed(absolute(path))
    guard let slash = whole.lastIndex(of: "/"), slash > whole.startIndex else { return "/" }
    return String(whole[..<slash])
  }

  /// The last part of a path.
  static func name(of path: String) -> String {
    let whole = trimmed(path)
    return String(whole[(whole.lastIndex(of: "/").map(whole.index(after:)) ?? whole.startIndex)...])
  }

  /// The path without slashes at its end.
  private static func trimmed(_ path: String) -> Substring {
    var path = path[...]
    while path.hasSuffix("/") { path.removeLast() }
    return path
  }
}

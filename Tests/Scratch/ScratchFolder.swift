import Foundation

/// A folder of one test's own, removed with everything in it when the value ends.
public final class ScratchFolder: Sendable {
  /// Where it is.
  public let path: String

  /// Makes an empty folder of mode 0700 below the system's folder for temporary files.
  ///
  /// - Parameter folder: where to make it instead, if that can be written to.
  public init(below folder: String? = nil) throws {
    let parent = folder.flatMap { FileManager.default.isWritableFile(atPath: $0) ? $0 + "/" : nil }
    path = (parent ?? NSTemporaryDirectory()) + "latchkey-test-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in it.
  public func file(_ name: String) -> String { path + "/" + name }

  /// Writes a file of mode 0600, whatever is there.
  public func put(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file(name))
  }

  /// A file's content; nil if there is none.
  public func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: file(name)).map { Array($0) }
  }

  /// The names of everything in it, sorted.
  public func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}

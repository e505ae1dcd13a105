import Foundation

/// A folder for one test. It is removed with all its content when the value ends.
public final class ScratchFolder: Sendable {
  /// The path of the folder.
  public let path: String

  /// Creates an empty folder of mode 0700.
  ///
  /// - Parameter folder: the parent folder. If it cannot be written, the system's folder for temporary files is the parent. Writes
  ///   in memory wait for no disk.
  public init(below folder: String = "/dev/shm") throws {
    let parent = FileManager.default.isWritableFile(atPath: folder) ? folder + "/" : nil
    path = (parent ?? NSTemporaryDirectory()) + "latchkey-test-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in the folder.
  public func file(_ name: String) -> String { path + "/" + name }

  /// Writes a file of mode 0600, and replaces an existing file.
  public func put(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file(name))
  }

  /// A file's content; nil if the file does not exist.
  public func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: file(name)).map { Array($0) }
  }

  /// The names of everything in the folder, sorted.
  public func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}

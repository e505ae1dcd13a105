import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The state of a path that a switch can record and put back.
public enum FileState: Equatable, Sendable {
  /// The path does not exist.
  case absent
  /// A regular file, with the permissions of its mode.
  case file(bytes: [UInt8], mode: UInt32)
  /// A symbolic link.
  case link(String)

  /// A file of text that everybody may read, like the files of other programs.
  static func text(_ text: String, mode: UInt32 = 0o644) -> FileState { .file(bytes: Array(text.utf8), mode: mode) }

  /// The text of a file; nil for anything else, and for bytes that are not UTF-8.
  var text: String? {
    guard case .file(let bytes, _) = self else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  var mode: UInt32? {
    guard case .file(_, let mode) = self else { return nil }
    return mode
  }
}

extension FileState: Codable {
  private enum Kind: String, Codable { case absent, file, link }
  private enum CodingKeys: String, CodingKey { case kind, mode, content, target }

  /// Reads the form that the record has.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    switch try values.decode(Kind.self, forKey: .kind) {
    case .absent: self = .absent
    case .link: self = .link(try values.decode(String.self, forKey: .target))
    case .file:
      guard let content = Base64.decode(try values.decode(String.self, forKey: .content)) else {
        throw DecodingError.dataCorruptedError(forKey: .content, in: values, debugDescription: "it is not Base64")
      }
      self = .file(bytes: content, mode: try values.decode(UInt32.self, forKey: .mode))
    }
  }

  /// Writes the form that the record has.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .absent: try values.encode(Kind.absent, forKey: .kind)
    case .link(let target):
      try values.encode(Kind.link, forKey: .kind)
      try values.encode(target, forKey: .target)
    case .file(let bytes, let mode):
      try values.encode(Kind.file, forKey: .kind)
      try values.encode(mode, forKey: .mode)
      try values.encode(Base64.encode(bytes), forKey: .content)
    }
  }
}

import LatchkeyKeybag
import LatchkeySodium

/// The parts of a request that are about security keys.
enum SecurityKeyRequest {
  /// The request is malformed.
  struct Malformed: Error {}

  /// The answer of a security key, which is the token.
  static func answer(of request: borrowing DeriveRequest) throws -> Key {
    guard request.token.count == Key.size else { throw Malformed() }
    return try Key(copying: request.token.bytes)
  }

  /// The answer of the security key to add: the first bytes of the second secret.
  static func addedAnswer(of request: borrowing DeriveRequest) throws -> Key {
    guard request.second.count > Key.size else { throw Malformed() }
    return try Key(copying: request.second.bytes.extracting(first: Key.size))
  }

  /// The facts about the security key to add, behind its answer.
  static func addedKey(of request: borrowing DeriveRequest) throws -> SecurityKey {
    guard request.second.count > Key.size else { throw Malformed() }
    let facts = request.second.bytes.extracting(droppingFirst: Key.size).octets
    let (name, credential) = try nameAndRest(facts)
    guard let key = SecurityKey(name: name, credential: credential) else { throw Malformed() }
    return key
  }

  /// Splits the bytes into the name of a key, which follows one byte with its length, and the rest.
  static func nameAndRest(_ bytes: [UInt8]) throws -> (String, [UInt8]) {
    guard let length = bytes.first, bytes.count > Int(length),
      let name = String(validating: bytes.dropFirst().prefix(Int(length)), as: UTF8.self)
    else { throw Malformed() }
    return (name, Array(bytes.dropFirst(Int(length) + 1)))
  }

  /// The names in a request: a key's name, and its new name, if the request has one.
  static func names(of request: borrowing DeriveRequest) throws -> (String, String) {
    let (name, rest) = try nameAndRest(request.second.bytes.octets)
    guard let other = String(validating: rest, as: UTF8.self) else { throw Malformed() }
    return (name, other)
  }
}

import Foundation
import LatchkeyDeviceStore
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyScratch
import LatchkeySodium
import Testing

/// The part of vectors.json about the device key service. generate_keybags.py makes vectors.json from FORMAT.md alone.
private struct Vectors: Decodable {
  struct Service: Decodable {
    let user: UInt32
    let device, salt, erasableSecret, identity, context, share, bound, erasable, session: String
  }
  let services: [Service]
  struct Bag: Decodable {
    struct SessionWay: Decodable {
      let id, wrapped, secret: String
      let user: UInt32
    }
    let vault: String
    let session: SessionWay?
  }
  let keybags: [Bag]
}

private func octets(_ hex: String) -> [UInt8] {
  let digits = Array<UInt8>(hex.utf8).map { UInt8($0 > 0x39 ? $0 - 0x57 : $0 - 0x30) }
  return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

@Suite("The device key service agrees with FORMAT.md")
struct StoreVectorTests {
  @Test("The state of the service gives the identities, and unwraps the shares")
  func services() throws {
    try Sodium.initialize()
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let url = tests.appendingPathComponent("KeybagTests/Vectors/vectors.json")
    let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
    #expect(vectors.services.count > 1)
    let scratch = try ScratchFolder()
    try FileManager.default.createDirectory(
      atPath: scratch.file("users"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for vector in vectors.services {
      try scratch.put("device", octets(vector.device))
      try scratch.put("users/\(vector.user)", octets(vector.salt))
      try scratch.put("users/\(vector.user).erasable", octets(vector.erasableSecret))
    }
    let store = try DeviceStore(path: scratch.path, seals: [HostSeal()], hasAccount: { _ in false }, log: { _ in })
    for vector in vectors.services {
      let (identity, backend) = try store.identity(of: vector.user)
      #expect(identity == octets(vector.identity))
      #expect(backend == .host)
      let wrappings = [
        (DeviceShareKind.bound, vector.bound), (.erasable, vector.erasable), (.session, vector.session),
      ]
      for (kind, wrapped) in wrappings {
        let share = try store.unwrap(octets(wrapped), kind, context: octets(vector.context), of: vector.user)
        #expect(share.bytes.withUnsafeBytes { Array($0) } == octets(vector.share))
      }
    }
    let bag = try #require(vectors.keybags.first { $0.session != nil })
    let way = try #require(bag.session)
    let secret = try store.unwrap(
      octets(way.wrapped), .session, context: octets(bag.vault) + octets(way.id), of: way.user)
    #expect(secret.bytes.withUnsafeBytes { Array($0) } == octets(way.secret))
  }
}

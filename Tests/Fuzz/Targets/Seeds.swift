import Bytes
import Sodium

@testable import Backup
@testable import Control
@testable import Keybag
@testable import Vault

/// What fuzzing starts from: real files and packets, made anew each time.
extension Target {
  /// Inputs that come far into the target.
  func seeds() throws -> [[UInt8]] {
    let texts: [String]
    switch self {
    case .keybag:
      let password = Home.password
      let cost = PasswordCost(passes: 3, memory: 32 << 20)
      let keybag = try Keybag.found(password: password.span.bytes, cost: cost).keybag.encoded
      return [keybag, [1] + keybag.dropLast(32)]
    case .deviceKey:
      let specimen = try Specimen()
      let file = specimen.home.read("device.key")
      return [file, [1] + file.dropLast(32)]
    case .controlRequest:
      let hello = Hello(stage: .openSession, service: "login", tty: "tty1", remoteHost: "")
      var out = ControlPacket.begin(.hello)
      hello.encode(into: &out)
      let delivery = TierDelivery(
        vault: [UInt8](repeating: 7, count: 16), generation: 1, founded: true, tiers: try TierKeys.random())
      let keys = try delivery.encoded(prefix: ControlPacket.begin(.unlock).bytes)
      return [out.bytes, keys.bytes.withUnsafeBytes { Array($0) }, [1, 3], [1, 4]]
    case .controlReply:
      var status = Status()
      status.lockReasons = ["the screen is locked"]
      status.problems = ["vault.db: it is damaged"]
      status.classes = AccessibilityClass.allCases.map { .init(name: $0.name, isPresent: true) }
      status.lockSources = ["logind"]
      return [
        ControlReply.status(status), .need(.refused("not now")), .outcome(.unusable("why")), .outcome(.live), .locked,
      ].map(\.encoded)
    case .deriveRequest:
      var out = ByteWriter()
      out.put([1, 2, 0])
      for text in ["ann", "login", "tty1", "", "/home/ann", "/run/user/1000", "password"] { out.text(text) }
      return [out.bytes]
    case .objectPath:
      texts = ["collection/login", "collection/c2/17", "collection/session/1", "aliases/default/3", "session/s1"].map {
        "/org/freedesktop/secrets/" + $0
      }
    case .controlAttributes:
      texts = AccessibilityClass.allCases.map { "latchkey:accessible\0\($0.name)\0service\0mail" } + ["latchkey:x\0y"]
    case .metadata:
      return [
        ItemMetadata(label: "Mail", attributes: ["service": "mail", "ä": ""], contentType: "text/plain", flags: 1)
          .encoded(revision: [UInt8](repeating: 1, count: 16))
      ]
    case .backup: return try backupSeeds()
    // Places in the file, all over it, and every way to damage it.
    case .database: return (UInt8(0)..<64).map { [$0 &* 37, $0 &* 91, $0 / 22, $0, $0, 16] }
    // Every way to change every column.
    case .rows:
      return (UInt8(0)..<8).flatMap { table in
        (UInt8(0)..<13).map { column in
          (UInt8(0)..<8).flatMap { kind in [table, column, kind, kind, 2, kind, 255 &- column] }
        }
      }
    }
    return texts.map { Array($0.utf8) }
  }
}

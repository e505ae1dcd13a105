import Foundation
import LatchkeySodium
import Testing

@testable import LatchkeyKeybag

/// A secret as a device key would have wrapped it.
private func newSecret() throws -> DeviceSecret {
  let wrapping = try #require(
    DeviceSecret.Wrapping(identity: Sodium.randomBytes(16), wrapped: Sodium.randomBytes(72)))
  return DeviceSecret(protector: Sodium.randomBytes(16), wrapping: wrapping, key: try .random())
}

@Suite("Every kind of protector")
struct ProtectorKindTests {
  init() throws { try Sodium.initialize() }

  /// The kinds of protectors that the later keybag no longer has.
  private func ended(_ before: Keybag, _ after: Keybag) -> Set<Protector.Kind> {
    let kept = Set(after.protectors.map(\.id))
    let kinds = Set(before.protectors.map(\.kind))
    return kinds.filter { kind in before.protectors.allSatisfy { $0.kind != kind || !kept.contains($0.id) } }
  }

  private func ending(_ keybag: Keybag, with ending: Protector.Kind.Ending) -> Set<Protector.Kind> {
    Set(keybag.protectors.map(\.kind)).filter { $0.ends(with: ending) }
  }

  @Test("Every kind of protector ends as its definition says, and in no other way")
  func endings() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    let coded = try created.settingRecoveryCode(RecoveryCode.random())
    let keyed = try coded.open(with: password).addingSecurityKey(
      #require(SecurityKey(name: "blue", credential: [1])), answer: .random())
    let touched = try keyed.open(with: password).settingFinger(mayBeInMemory: true)
    let full = try touched.open(with: password).settingSession(newSecret())
    let opened = try full.open(with: password)
    #expect(Set(full.protectors.map(\.kind)) == [.password, .recoveryCode, .session, .securityKey, .finger])
    let another = Array("another".utf8)
    #expect(
      ended(full, try opened.settingPassword(another.span.bytes, cost: cheap)) == ending(full, with: .otherPassword))
    let secret = try newSecret()
    let passwordless = try opened.removingPassword(secret)
    #expect(ended(full, passwordless) == ending(full, with: .removedPassword))
    #expect(Set(passwordless.protectors.map(\.kind)) == [.device, .recoveryCode])
    let first = try passwordless.open(deviceSecret: secret.key).settingPassword(another.span.bytes, cost: cheap)
    #expect(ended(passwordless, first) == ending(passwordless, with: .firstPassword))
    let withoutCode = try #require(try opened.removingRecoveryCode())
    let withoutSession = try #require(try opened.removingSession())
    let withoutKey = try #require(try opened.removingSecurityKey(named: "blue"))
    let withoutFinger = try #require(try opened.removingFinger())
    let removed = [withoutCode, withoutSession, withoutKey, withoutFinger].map { ended(full, $0) }
    #expect(removed.reduce([]) { $0.union($1) } == ending(full, with: .command))
  }

  @Test("FORMAT.md has the same table")
  func table() throws {
    let format = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../FORMAT.md"),
      encoding: .utf8)
    let section = try #require(format.components(separatedBy: "### Kinds of protectors\n").last)
    let rows = section.split(separator: "\n").prefix { $0.hasPrefix("|") }.dropFirst(2)
    let names: [Protector.Kind.Holder: String] = [
      .person: "a person", .paper: "paper", .deviceKey: "the device key",
      .securityKey: "a security key", .deviceService: "the device key service",
    ]
    let endings: [Protector.Kind.Ending: String] = [
      .otherPassword: "another password", .firstPassword: "the first password",
      .removedPassword: "the removal of the password", .command: "`latchkey protector remove`",
    ]
    #expect(rows.count == Protector.Kind.allCases.count)
    for (row, kind) in zip(rows, Protector.Kind.allCases) {
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(
        Array(cells.prefix(4)) == ["\(kind.rawValue)", "`\(kind.name)`", names[kind.holder], kind.reach.rawValue])
      // A keybag has at most one protector of the device. A new one replaces it, whatever the ending.
      for (ending, words) in endings where kind != .device {
        #expect(cells[4].contains(words) == kind.ends(with: ending), "\(kind.name), \(words)")
      }
    }
  }
}

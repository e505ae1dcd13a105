import Foundation
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyBackup

/// The vectors of backups.json, which generate_backups.py makes from FORMAT.md alone.
private struct Vector: Decodable {
  struct Item: Decodable {
    let collection: UInt32
    let `class`: UInt8
    let metadata, secret: String
    let size: Int
    let created, modified: UInt64
  }
  let name, passphrase, argon2id, deviceKey, share, file: String
  let items: [Item]
}

private func octets(_ text: String) -> [UInt8] {
  var digits = text.utf8.makeIterator()
  var out: [UInt8] = []
  while let high = digits.next(), let low = digits.next() {
    out.append(UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16) ?? 0)
  }
  return out
}

@Suite("The programs agree with FORMAT.md about backups")
struct BackupVectorTests {
  private let vectors: [Vector]

  init() throws {
    try Sodium.initialize()
    let url = try #require(Bundle.module.url(forResource: "backups", withExtension: "json"))
    vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: url))
  }

  @Test("Whole backups open by their passphrases, and have the expected records")
  func backups() throws {
    #expect(vectors.count == 3)
    for vector in vectors { try check(vector) }
  }

  private func check(_ vector: Vector) throws {
    let file = octets(vector.file)
    let header = try BackupHeader(decoding: Array(file.prefix(BackupHeader.size)))
    let key = try header.derivation.key(Array(vector.passphrase.utf8).span.bytes)
    let expected = octets(vector.argon2id)
    let isExpected = Sodium.equal(key.bytes, expected.span.bytes)
    #expect(isExpected)
    var reader = try BackupReader(header, key: key)
    var seal: BackupSeal?
    var found = 0
    var rest = file[BackupHeader.size...]
    while !rest.isEmpty {
      let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      try reader.take(Array(rest.dropFirst(4).prefix(length)).span.bytes)
      rest = rest.dropFirst(4 + length)
      while let record = try reader.next() {
        switch consume record {
        case .beginning(let beginning):
          if let device = beginning.device { seal = try open(device, header.id, vector) }
        case .collection: break
        case .end: break
        case .item(let item):
          try check(item, vector.items[found], number: UInt64(found), seal)
          found += 1
        }
      }
    }
    #expect(found == vector.items.count, "\(vector.name)")
    let isWhole = reader.isWhole
    #expect(isWhole)
  }

  private func open(_ device: BackupDevice, _ id: [UInt8], _ vector: Vector) throws -> BackupSeal {
    let share = try Key(copying: octets(vector.share).span.bytes)
    let wrap = try share.derive(.backupDeviceWrap, [id])
    let plain = try AEAD.open(device.byShare.span.bytes, key: wrap, associated: BackupDevice.context(id: id))
    let isExpected = Sodium.equal(plain.bytes, octets(vector.deviceKey).span.bytes)
    #expect(isExpected)
    return BackupSeal(try Key(copying: plain.bytes), id: id)
  }

  private func check(
    _ item: consuming BackupItem, _ expected: Vector.Item, number: UInt64, _ seal: BackupSeal?
  ) throws {
    let (collection, accessibility, sealing) = (item.collection, item.accessibility, item.sealing)
    let times = [item.created, item.modified]
    #expect(collection == expected.collection && accessibility.rawValue == expected.class)
    #expect(times == [expected.created, expected.modified])
    var metadata = item.metadata
    var secret = item.takeSecret()
    if sealing != .none {
      let seal = try #require(seal)
      if sealing == .everything { metadata = try seal.open(metadata: metadata, accessibility, number: number) }
      secret = try seal.open(secret: secret, accessibility, number: number, metadata: metadata)
    }
    #expect(metadata == octets(expected.metadata))
    let sum = Sodium.checksum(secret.bytes)
    #expect(secret.count == expected.size && sum == octets(expected.secret))
  }
}

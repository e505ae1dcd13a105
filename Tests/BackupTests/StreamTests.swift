import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyBackup

@Suite("A backup's stream")
struct StreamTests {
  @Test(
    "Records come out as they went in, however they fall into chunks",
    arguments: [
      [], [0], [1, 2, 3], [31_000, 31_990, 31_999, 32_000, 32_001], [200_000], Array(repeating: 900, count: 60),
    ], [false, true])
  func roundTrip(_ sizes: [Int], flushing: Bool) throws {
    let (header, chunks) = try SpecimenBackup.make(sizes: sizes, flushing: flushing)
    #expect(header.count == BackupHeader.size)
    #expect(chunks.allSatisfy { $0.count <= BackupReader.chunkLimit + 4 })
    let read = try SpecimenBackup.read(header, chunks)
    #expect(read.sizes == sizes)
    #expect(read.isWhole)
  }

  @Test("A record may end with a chunk, or one byte before or after it", arguments: 0..<4)
  func edges(_ offset: Int) throws {
    let (_, small) = try SpecimenBackup.make(sizes: [0])
    // The space that is left in a chunk after the other records.
    let room = BackupWriter.chunkLimit - (small.reduce(0) { $0 + $1.count - 4 - SecretStream.overhead })
    for size in [room - 2 + offset] + (0..<30).map({ room - 30 + $0 }) {
      let (header, chunks) = try SpecimenBackup.make(sizes: [size])
      #expect(try SpecimenBackup.read(header, chunks).sizes == [size])
    }
  }

  @Test("Without its end a backup is not whole, wherever it was truncated")
  func cuts() throws {
    let (header, chunks) = try SpecimenBackup.make(sizes: [10, 70_000, 40_000])
    #expect(chunks.count > 3)
    for count in 0..<chunks.count {
      #expect(try !SpecimenBackup.read(header, Array(chunks[..<count])).isWhole)
    }
  }

  @Test("No chunk can be left out, doubled, moved or put behind the end")
  func order() throws {
    let (header, chunks) = try SpecimenBackup.make(sizes: [10, 70_000, 40_000])
    for index in chunks.indices {
      var without = chunks
      without.remove(at: index)
      if index < chunks.count - 1 {
        #expect(throws: BackupError.damagedChunk(index + 1)) { try SpecimenBackup.read(header, without) }
      }
      var doubled = chunks
      doubled.insert(chunks[index], at: index)
      #expect(throws: BackupError.damagedChunk(index + 2)) { try SpecimenBackup.read(header, doubled) }
    }
    var moved = chunks
    moved.swapAt(0, 1)
    #expect(throws: BackupError.damagedChunk(1)) { try SpecimenBackup.read(header, moved) }
  }

  @Test("Damage of any byte is found, and where")
  func damage() throws {
    let (header, chunks) = try SpecimenBackup.make(sizes: [10, 70_000])
    for index in chunks.indices {
      for offset in stride(from: 4, to: chunks[index].count, by: 997) {
        var damaged = chunks
        damaged[index][offset] ^= 0x20
        #expect(throws: BackupError.damagedChunk(index + 1)) { try SpecimenBackup.read(header, damaged) }
      }
      var shorter = chunks
      shorter[index].removeLast()
      #expect(throws: BackupError.damagedChunk(index + 1)) { try SpecimenBackup.read(header, shorter) }
    }
    for chunk in [[UInt8](repeating: 0, count: 4), [UInt8](repeating: 0, count: BackupReader.chunkLimit + 5)] {
      #expect(throws: BackupError.damagedChunk(1)) { try SpecimenBackup.read(header, [chunk]) }
    }
  }

  @Test("Chunks do not open under another header, so nobody can change its time or cost")
  func otherHeader() throws {
    let (header, chunks) = try SpecimenBackup.make(sizes: [1])
    let (other, _) = try SpecimenBackup.make(sizes: [1])
    #expect(throws: BackupError.damagedChunk(1)) { try SpecimenBackup.read(other, chunks) }
    // Each changed header has a valid check sum: id, time, salt, passes, memory, commitment.
    for offset in [12, 28, 36, 52, 59, 64] {
      var bent = header
      bent[offset] ^= 4
      let body = bent.dropLast(32)
      bent = body + Sodium.checksum(Array(body).span.bytes)
      #expect(throws: BackupError.wrongPassphrase, "\(offset)") { try SpecimenBackup.read(bent, chunks) }
    }
    var stream = header
    stream[96] ^= 4
    let body = stream.dropLast(32)
    stream = body + Sodium.checksum(Array(body).span.bytes)
    #expect(throws: BackupError.damagedChunk(1)) { try SpecimenBackup.read(stream, chunks) }
  }
}

@Suite("Records of a backup by an attacker who has the passphrase")
struct RecordTests {
  /// The error of reading a backup that ends in the wrong place, or that has a record which no vault makes.
  private func outcome(_ build: (inout BackupWriter) throws -> Void) throws -> BackupError? {
    var writer = try SpecimenBackup.writer(try SpecimenBackup.derivation())
    try build(&writer)
    let header = writer.header.bytes
    var chunks: [[UInt8]] = []
    while let chunk = writer.chunk(flushing: true) { chunks.append(chunk) }
    do { _ = try SpecimenBackup.read(header, chunks) } catch let error as BackupError { return error }
    return nil
  }

  private func put(_ writer: inout BackupWriter, _ record: consuming BackupRecord) {
    writer.put(record)
    while !writer.wantsRecord, writer.chunk(flushing: true) != nil {}
  }

  @Test("An item needs a collection before it, and every record needs the backup's beginning")
  func order() throws {
    #expect(
      try outcome { $0.put(.collection(SpecimenBackup.collection)) } == .malformed(.backup(.outOfOrder)))
    #expect(
      try outcome {
        $0.put(.beginning(SpecimenBackup.beginning))
        _ = $0.chunk()
        $0.put(.beginning(SpecimenBackup.beginning))
      } == .malformed(.backup(.outOfOrder)))
    #expect(
      try outcome {
        $0.put(.beginning(SpecimenBackup.beginning))
        _ = $0.chunk()
        $0.put(.item(try SpecimenBackup.item(3)))
      } == .malformed(.backup(.malformed)))
  }

  @Test("The counts in the last record must be true")
  func counts() throws {
    #expect(
      try outcome {
        $0.put(.beginning(SpecimenBackup.beginning))
        _ = $0.chunk()
        $0.put(.end(items: 1, collections: 0))
      } == .malformed(.backup(.wrongCount)))
  }

  @Test("An item of the class that never leaves the device is refused")
  func passcode() throws {
    #expect(
      try outcome {
        $0.put(.beginning(SpecimenBackup.beginning))
        _ = $0.chunk()
        $0.put(.collection(SpecimenBackup.collection))
        _ = $0.chunk()
        $0.put(.item(try SpecimenBackup.item(3, .whenPasscodeSetThisDeviceOnly)))
      } == .malformed(.backup(.malformed)))
  }
}

@Suite("A backup's header")
struct HeaderTests {
  @Test("A damaged byte is reported as damage and not as a wrong passphrase, and so is a truncated header")
  func damage() throws {
    let (header, _) = try SpecimenBackup.make(sizes: [])
    for offset in header.indices {
      var damaged = header
      damaged[offset] ^= 1
      let expected: BackupError =
        switch offset {
        case ..<8: .notABackup
        case 8: .damagedHeader
        case 9..<12: .newer(1 + (1 << (8 * UInt32(offset - 8))))
        default: .damagedHeader
        }
      #expect(throws: expected) { try BackupHeader(decoding: damaged) }
    }
    for count in header.indices {
      #expect(throws: BackupError.damagedHeader) { try BackupHeader(decoding: Array(header[..<count])) }
    }
    #expect(throws: BackupError.damagedHeader) { try BackupHeader(decoding: header + [0]) }
  }

  @Test("Another passphrase's key is told as such")
  func wrong() throws {
    let (bytes, _) = try SpecimenBackup.make(sizes: [])
    let header = try BackupHeader(decoding: bytes)
    let other = try SpecimenBackup.key(10)
    #expect(throws: BackupError.wrongPassphrase) { _ = try BackupReader(header, key: other) }
  }

  @Test(
    "An impossible cost is refused before any work",
    arguments: [
      (2, 32 << 20), (11, 32 << 20), (3, (32 << 20) - 1024), (3, (1 << 30) + 1024), (3, (32 << 20) + 1), (0, 0),
      (.max, .max),
    ] as [(UInt32, UInt64)])
  func cost(_ passes: UInt32, _ memory: UInt64) throws {
    let writer = try SpecimenBackup.writer(try SpecimenBackup.derivation(passes: passes, memory: memory))
    let bytes = writer.header.bytes
    #expect(throws: BackupError.unreasonable) { try BackupHeader(decoding: bytes) }
  }
}

@Suite("Secrets in a backup for one device")
struct DeviceSealTests {
  private func seal(_ octet: UInt8 = 5, id: [UInt8] = SpecimenBackup.id) throws -> BackupSeal {
    BackupSeal(try SpecimenBackup.key(octet), id: id)
  }

  private func opens(
    _ sealed: borrowing SecureBytes, _ seal: BackupSeal, number: UInt64 = 7, metadata: [UInt8] = [1],
    _ accessibility: AccessibilityClass = .whenUnlockedThisDeviceOnly
  ) -> Bool {
    (try? seal.open(secret: sealed, accessibility, number: number, metadata: metadata).count) == 3
  }

  @Test("Nothing but the same item of the same backup opens")
  func binding() throws {
    let one = try seal()
    let secret = try SecureBytes(copying: ([1, 2, 3] as [UInt8]).span.bytes)
    let sealed = try one.seal(secret: secret, .whenUnlockedThisDeviceOnly, number: 7, metadata: [1])
    let opened1 = opens(sealed, one)
    #expect(opened1)
    let opened2 = opens(sealed, one, number: 8)
    #expect(!opened2)
    let opened3 = opens(sealed, one, metadata: [2])
    #expect(!opened3)
    let opened4 = opens(sealed, one, .afterFirstUnlockThisDeviceOnly)
    #expect(!opened4)
    let otherKey = try seal(6)
    let otherBackup = try seal(id: [UInt8](repeating: 0, count: 16))
    let opened5 = opens(sealed, otherKey)
    #expect(!opened5)
    let opened6 = opens(sealed, otherBackup)
    #expect(!opened6)
    let metadata = one.seal(metadata: [4, 5], .alwaysThisDeviceOnly, number: 7)
    let opened = try one.open(metadata: metadata, .alwaysThisDeviceOnly, number: 7)
    #expect(opened == [4, 5])
    #expect(throws: SodiumError.decryptionFailed) {
      try one.open(metadata: metadata, .alwaysThisDeviceOnly, number: 6)
    }
  }
}

import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// The generations of a user's vaults. Only the last used vaults are kept, the latest at the end. FORMAT.md has it byte by byte.
struct KnownVaults {
  /// The limit, so that a user who makes vaults without end cannot fill the disk.
  static let limit = 8
  private static let vaultSize = 16
  private static let entrySize = vaultSize + 8 + 8

  private var entries: [(vault: [UInt8], generations: VaultGenerations)] = []

  init() {}

  /// Reads the content of the file; nil for malformed content, or another user's.
  init?(_ content: RawSpan, of user: UInt32) {
    var input = ByteReader(content.octets)
    do throws(ByteReader.Truncated) {
      guard try input.number(UInt32.self) == user, input.remaining.isMultiple(of: KnownVaults.entrySize),
        (1...KnownVaults.limit).contains(input.remaining / KnownVaults.entrySize)
      else { return nil }
      while input.remaining > 0 {
        let vault = try input.take(KnownVaults.vaultSize)
        guard self[vault] == nil else { return nil }
        entries.append((vault, VaultGenerations(keybag: try input.number(), database: try input.number())))
      }
    } catch { return nil }
  }

  func encoded(of user: UInt32) -> [UInt8] {
    var out = ByteWriter()
    out.number(user)
    for entry in entries {
      out.put(entry.vault)
      out.number(entry.generations.keybag)
      out.number(entry.generations.database)
    }
    return out.bytes
  }

  subscript(vault: [UInt8]) -> VaultGenerations? { entries.first { $0.vault == vault }?.generations }

  /// - Returns: whether anything changed and must be written.
  mutating func note(_ generations: VaultGenerations, of vault: [UInt8], isBeginning: Bool) -> Bool {
    var next = generations
    if let before = self[vault] {
      if !isBeginning {
        next.keybag = max(next.keybag, before.keybag)
        next.database = max(next.database, before.database)
      }
      guard next != before else { return false }
    }
    entries.removeAll { $0.vault == vault }
    entries.append((vault, next))
    entries.removeFirst(max(0, entries.count - KnownVaults.limit))
    return true
  }
}

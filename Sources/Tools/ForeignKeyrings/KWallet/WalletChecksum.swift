/// The checksum of KWallet's files: SHA-1 with the bytes of each word reversed. No library has this function. It only shows whether
/// a file is whole, and no secret depends on it.
enum WalletChecksum {
  /// The 20 bytes of the checksum.
  static func of(_ bytes: RawSpan) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
    var words = [UInt32](repeating: 0, count: 16)
    let count = bytes.byteCount
    let total = (count + 9 + 63) / 64 * 64
    for start in stride(from: 0, to: total, by: 64) {
      for index in 0..<64 {
        let place = start + index
        let octet: UInt8 =
          if place < count {
            bytes[place]
          } else if place == count {
            0x80
          } else if place >= total - 8 {
            UInt8(truncatingIfNeeded: (8 * count) >> (8 * (total - 1 - place)))
          } else {
            0
          }
        // The last word of the preceding block is pushed out.
        words[index / 4] = words[index / 4] >> 8 | UInt32(octet) << 24
      }
      mix(&state, &words)
    }
    // These variables held parts of the secrets.
    for index in words.indices { words[index] = 0 }
    return state.flatMap { word in [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) } }
  }

  private static func mix(_ state: inout [UInt32], _ words: inout [UInt32]) {
    func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for round in 0..<80 {
      if round >= 16 {
        words[round & 15] = turned(
          words[round & 15] ^ words[(round - 14) & 15] ^ words[(round - 8) & 15] ^ words[(round - 3) & 15], 1)
      }
      let (mixed, constant): (UInt32, UInt32) =
        switch round / 20 {
        case 0: (d ^ (b & (c ^ d)), 0x5a82_7999)
        case 1: (b ^ c ^ d, 0x6ed9_eba1)
        case 2: (b & c | d & (b | c), 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
      (a, b, c, d, e) = (turned(a, 5) &+ mixed &+ e &+ constant &+ words[round & 15], a, turned(b, 30), c, d)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
  }
}

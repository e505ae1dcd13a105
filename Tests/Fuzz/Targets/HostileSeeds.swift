@testable import LatchkeyVault

extension Target {
  /// Every kind of change, to the database, to the generation, and to both.
  func hostileSeeds() -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    for number: UInt8 in 0..<9 {
      for kind: UInt8 in 0..<16 { pieces.append([kind, number, kind &+ number, number, 0, 0]) }
      for kind: UInt8 in 0..<12 {
        pieces.append([HostileVault.statements + kind, number &* 5, number, number &* 7, number, 0])
      }
    }
    var seeds: [[UInt8]] = []
    for (number, piece) in pieces.enumerated() { seeds.append([UInt8(number % 3), 0] + piece) }
    for size: UInt8 in 1..<11 { seeds.append([size % 3, size]) }
    return seeds
  }
}

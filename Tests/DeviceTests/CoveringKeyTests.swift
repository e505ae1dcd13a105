import LatchkeyDeviceStore
import LatchkeyKeybag
import LatchkeySodium
import Testing

/// A chip that loses its secret on request.
private final class ForgetfulChip: SecretHolder {
  private var secrets: [[UInt8]: [UInt8]] = [:]
  var isFull = false

  func hold(_ secret: borrowing Key) throws(DeviceKeyError) -> [UInt8] {
    guard !isFull else { throw .unavailable(.device(.tpmUnusable)) }
    let context = Sodium.randomBytes(16)
    secrets[context] = secret.bytes.withUnsafeBytes { Array($0) }
    return context
  }

  func held(_ context: [UInt8]) throws(DeviceKeyError) -> Key {
    guard let secret = secrets[context], let key = try? Key(copying: secret.span.bytes) else {
      throw .unavailable(.device(.tpmUnusable))
    }
    return key
  }

  func start() { secrets = [:] }
}

@Suite("A covering key in the device key service")
struct CoveringKeyTests {
  private let prints = [UInt8](repeating: 1, count: 32)
  private let now = ContinuousClock().now
  private let chip = ForgetfulChip()
  private let pair: [UInt8]

  init() throws {
    try Sodium.initialize()
    pair = Sodium.randomBytes(32)
  }

  private func secret() throws -> Key { try Key(copying: pair.span.bytes) }

  private func octets(_ value: borrowing Key) -> [UInt8] { value.bytes.withUnsafeBytes { Array($0) } }

  private func hold(_ key: borrowing Key, in chip: ForgetfulChip?) throws -> CoveringKey {
    try CoveringKey(key, to: SealedBox.publicKey(of: secret()), in: chip, prints: prints, at: now)
  }

  private func end(_ held: CoveringKey, _ prints: [UInt8]?, after time: Duration = .zero) -> HoldEnd? {
    do throws(HoldEnd) {
      _ = try held.release(prints: prints, at: now + time)
      return nil
    } catch { return error }
  }

  @Test("A covering key comes back sealed to the public key at each release by a finger", arguments: [true, false])
  func released(isInChip: Bool) throws {
    let key = try Key.random()
    let held = try hold(key, in: isInChip ? chip : nil)
    for hours in [0, 47] {
      let sealed = try held.release(prints: prints, at: now + .seconds(hours * 3600))
      #expect(sealed.count == CoveredTiers.sealedKeySize && !sealed.contains(octets(key)))
      #expect(octets(try Key(SealedBox.open(sealed.span.bytes, secret: secret()))) == octets(key))
    }
  }

  @Test("A covering key ends after a time, a number of touches, a change of prints, or a start of the machine")
  func ends() throws {
    let held = try hold(Key.random(), in: chip)
    #expect(end(held, prints, after: CoveringKey.timeLimit - .seconds(1)) == nil)
    #expect(end(held, prints, after: CoveringKey.timeLimit) == .expired)
    var other = prints
    other[31] = 2
    for changed in [other, [], nil] { #expect(end(held, changed) == .otherPrints) }
    // The present prints again. A print that was enrolled and removed between two questions is not noticed.
    #expect(end(held, prints) == nil)
    for left in (0..<CoveringKey.touchLimit).reversed() {
      #expect(end(held, prints) == nil)
      held.countTouch()
      #expect(held.touchesLeft == left)
    }
    held.countTouch()
    #expect(end(held, prints) == .manyTouches && held.touchesLeft == 0)
    let another = try hold(Key.random(), in: chip)
    chip.start()
    #expect(end(another, prints) == .lost)
  }

  @Test("A covering key is refused if the chip refuses it, or if nothing can be sealed to the public key")
  func refused() throws {
    chip.isFull = true
    #expect(throws: DeviceKeyError.self) { try hold(Key.random(), in: chip) }
    for publicKey in [[], [UInt8](repeating: 1, count: 31), [UInt8](repeating: 0, count: 32)] {
      #expect(throws: DeviceKeyError.self) {
        try CoveringKey(Key.random(), to: publicKey, in: nil, prints: prints, at: now)
      }
    }
  }
}

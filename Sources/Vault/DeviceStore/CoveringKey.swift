import LatchkeyKeybag
import LatchkeySodium

/// Keeps a secret in such a way that only this running machine can return it. A TPM can do this.
public protocol SecretHolder: AnyObject {
  /// Takes the secret.
  ///
  /// - Returns: a handle for ``held(_:)``. Nothing in that value opens anything elsewhere.
  func hold(_ secret: borrowing Key) throws(DeviceKeyError) -> [UInt8]
  /// The secret again, unless the machine started meanwhile.
  func held(_ context: [UInt8]) throws(DeviceKeyError) -> Key
}

/// The key that covers the tier keys of one user's vault behind the lock. The service keeps it until a finger releases it. Then the
/// service sends it, sealed to the public key that came with it. docs/developer/finger.md describes all of this.
public final class CoveringKey {
  /// Where the key is.
  private enum Place: ~Copyable {
    /// In this process's locked memory, because the user chose this place for a machine without a TPM.
    case memory(Key)
    /// In the chip. This process has only the saved context.
    case chip(any SecretHolder, [UInt8])
  }

  /// How long a key is held after the password.
  public static let timeLimit = Duration.seconds(48 * 3600)
  /// After this many fingers that do not match, the hold ends. All locks since the password count together.
  public static let touchLimit = 5

  private let place: Place
  private let publicKey: [UInt8]
  private let prints: [UInt8]
  private let deadline: ContinuousClock.Instant
  private var touches = 0

  /// Takes a key.
  ///
  /// - Parameters:
  ///   - publicKey: 32 bytes, to which the key is sealed when it is released.
  ///   - chip: nil for memory.
  ///   - prints: the hash of the user's prints now.
  ///   - now: the moment of the password, on a clock that counts while the machine sleeps.
  public init(
    _ key: borrowing Key, to publicKey: [UInt8], in chip: (any SecretHolder)?, prints: [UInt8],
    at now: ContinuousClock.Instant
  ) throws(DeviceKeyError) {
    do throws(SodiumError) {
      // An unusable public key is reported now, and not at the first touch.
      _ = try SealedBox.seal(key.bytes, to: publicKey)
    } catch { throw .unavailable(.device(.invalidReply)) }
    if let chip {
      place = .chip(chip, try chip.hold(key))
    } else {
      do { place = .memory(try key.duplicate()) } catch { throw .unavailable(.device(.noMemory)) }
    }
    self.publicKey = publicKey
    self.prints = prints
    deadline = now + CoveringKey.timeLimit
  }

  /// Throws if it is known before the touch that the key may not be released.
  public func check(prints: [UInt8]?, at now: ContinuousClock.Instant) throws(HoldEnd) {
    guard now < deadline else { throw .expired }
    guard touches < CoveringKey.touchLimit else { throw .manyTouches }
    guard let prints, Sodium.equal(prints, self.prints) else { throw .otherPrints }
  }

  /// Whether the key is in this process's memory, and in no chip.
  public var isInMemory: Bool {
    switch place {
    case .memory: true
    case .chip: false
    }
  }

  /// The number of further touches that may fail to match.
  public var touchesLeft: Int { max(0, CoveringKey.touchLimit - touches) }

  /// A finger did not match.
  public func countTouch() { touches += 1 }

  /// The key, sealed to the public key. The caller has just verified the user's finger itself.
  ///
  /// - Parameter prints: the hash of the user's prints after the touch; nil if they cannot be read.
  public func release(prints: [UInt8]?, at now: ContinuousClock.Instant) throws(HoldEnd) -> [UInt8] {
    try check(prints: prints, at: now)
    switch place {
    case .memory(let key): return try sealed(key)
    case .chip(let chip, let context):
      let key: Key
      do throws(DeviceKeyError) { key = try chip.held(context) } catch { throw .lost }
      return try sealed(key)
    }
  }

  private func sealed(_ key: borrowing Key) throws(HoldEnd) -> [UInt8] {
    do throws(SodiumError) { return try SealedBox.seal(key.bytes, to: publicKey) } catch { throw .lost }
  }
}

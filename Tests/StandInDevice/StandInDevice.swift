import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A device key service whose keys depend only on the seed, so that several processes of a test use the same service.
public final class StandInDevice: DeviceKey {
  /// The identity of the service.
  public let identity: [UInt8]
  /// The backend of a service that keeps its secret in a file.
  public let backend = DeviceKeyBackend.host
  /// The reason why the stand-in cannot be used now.
  public var failure: DeviceKeyError?
  /// Whether the stand-in's erasable secret was erased.
  public var hasErased = false
  /// The store that remembers the generations.
  public var memory: (any GenerationMemory)?
  /// Whether the stand-in returns other shares than it got.
  public var isLying = false
  private let seed: UInt8
  private var erasures: UInt8 = 0

  /// A service whose secrets come from `seed`.
  public init(seed: UInt8) {
    self.seed = seed
    identity = [UInt8](repeating: seed, count: 16)
  }

  private func key(_ kind: DeviceShareKind) throws(DeviceKeyError) -> Key {
    do throws(SodiumError) {
      let bytes =
        [UInt8](repeating: seed, count: 30) + [kind.rawValue, kind == .erasable ? erasures : 0]
      return try Key(copying: bytes.span.bytes)
    } catch { throw .unavailable(.verbatim("\(error)")) }
  }

  /// Wraps with a key that the test could compute.
  public func wrap(
    _ share: borrowing Key, _ kind: DeviceShareKind, context: [UInt8]
  ) throws(DeviceKeyError) -> [UInt8] {
    if let failure { throw failure }
    let key = try key(kind)
    return AEAD.seal(share.bytes, key: key, associated: context)
  }

  /// After this call, shares that were wrapped as erasable no longer open.
  public func eraseErasable(in folder: borrowing Folder) throws(DeviceKeyError) {
    if let failure { throw failure }
    erasures += 1
  }

  /// Unwraps a share that ``wrap`` wrapped.
  public func unwrap(_ wrapped: [UInt8], _ kind: DeviceShareKind, context: [UInt8]) throws(DeviceKeyError) -> Key {
    if let failure { throw failure }
    if kind == .erasable && hasErased { throw .otherDevice }
    let key = try key(kind)
    do throws(SodiumError) {
      if isLying { return try Key.random() }
      return try Key(try AEAD.open(wrapped.span.bytes, key: key, associated: context))
    } catch { throw .otherDevice }
  }
}

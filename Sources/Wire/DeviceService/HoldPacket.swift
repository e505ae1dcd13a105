import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySodium

/// The messages about covering keys, which a finger releases. docs/developer/finger.md has tables of them.
public enum HoldPacket {
  /// The state of a user's covering key in the service.
  public enum State: UInt8, Sendable {
    case nothing = 0
    case inTPM = 1
    case inMemory = 2
    case verifying = 3
  }

  /// A word about a verification: the person's next step, or how the verification ended.
  public enum Word: UInt8, Sendable {
    // Steps. Another word follows.
    case place = 1
    case swipe = 2
    case again = 3
    case noMatch = 4
    // Outcomes. Each is the last word.
    case matched = 16
    case manyTries = 17
    case givenUp = 18
    case notHeld = 19
    case noReader = 20
    // Only a holder gets this word, about its own touch.
    case away = 22
  }

  /// The first byte of a packet with a covering key, if the holder itself asked for the touch.
  static let answered: UInt8 = 21

  /// The answer to a question about a user's hold.
  public struct Held: Equatable, Sendable {
    /// The state of the key.
    public let state: State
    /// The number of further touches that may fail to match.
    public let touchesLeft: UInt8
    /// The reason why the key has ended; nil if there is a key, or if there never was one.
    public let end: HoldEnd?

    /// Makes a value from its parts.
    public init(_ state: State, touchesLeft: UInt8, end: HoldEnd?) {
      (self.state, self.touchesLeft, self.end) = (state, touchesLeft, end)
    }
  }

  /// A packet that comes to a holder without a request.
  public enum News {
    /// A finger matched. The packet has the covering key, encrypted to the holder's public key, and the moment of the touch, in
    /// microseconds since the machine started. Time asleep counts.
    case released([UInt8], at: UInt64)
    /// The same after a touch that this holder asked for under this number.
    case answered([UInt8], at: UInt64, touch: UInt32)
    /// A word about the touch with this number.
    case touch(Word, UInt32)
    /// The hold has ended, and the service no longer has the covering key.
    case ended(HoldEnd)
  }

  /// The size of a covering key that was sealed to the holder's public key.
  public static let sealedSize = CoveredTiers.sealedKeySize
}

/// Requests about covering keys, as packets in locked memory.
extension DevicePacket {
  /// Make a key, to which this end seals what it hands over.
  public static func makeKey() throws(SodiumError) -> SecureBytes { try begin(.makeKey) }

  /// Hold a covering key, and let a finger release it.
  ///
  /// - Parameter publicKey: the answer to ``makeKey()`` on this connection.
  public static func hold(_ key: borrowing HandedKey, sealedTo publicKey: [UInt8]) throws(SodiumError) -> SecureBytes {
    try begin(.hold, try key.sealed(to: publicKey))
  }

  /// Erase the covering key that this connection holds.
  public static func drop() throws(SodiumError) -> SecureBytes { try begin(.drop) }

  /// Say whether the service holds a covering key of a user.
  public static func held(of user: uid_t) throws(SodiumError) -> SecureBytes { try begin(.held, number(user)) }

  /// Have a finger of a user verified.
  public static func verify(_ user: uid_t) throws(SodiumError) -> SecureBytes { try begin(.verify, number(user)) }

  /// Have a finger verified for this holder itself. The answers have this number.
  public static func touch(_ touch: UInt32) throws(SodiumError) -> SecureBytes { try begin(.touch, number(touch)) }

  /// End the wait for the touch with this number.
  public static func leave(_ touch: UInt32) throws(SodiumError) -> SecureBytes { try begin(.leave, number(touch)) }
}

/// The service's packets about covering keys.
extension DeviceReply {
  /// To make a key: its public half.
  public static func made(_ publicKey: [UInt8]) throws(SodiumError) -> SecureBytes { try packet(.done, publicKey) }

  /// The reply to `hold`: the place of the key.
  public static func holds(_ state: HoldPacket.State) throws(SodiumError) -> SecureBytes {
    try packet(.done, [state.rawValue])
  }

  /// The reply to `held`.
  public static func held(_ held: HoldPacket.Held) throws(SodiumError) -> SecureBytes {
    try packet(.done, [held.state.rawValue, held.touchesLeft, held.end?.rawValue ?? 0])
  }

  /// A reply to `verify`. A verification has several.
  ///
  /// - Parameter end: why no key is held, with ``HoldPacket/Word/notHeld``.
  public static func word(_ word: HoldPacket.Word, _ end: HoldEnd? = nil) throws(SodiumError) -> SecureBytes {
    try packet(.done, [word.rawValue, end?.rawValue ?? 0])
  }

  /// A packet to a holder that answers no request, or that is about the holder's own touch.
  public static func news(_ news: HoldPacket.News) throws(SodiumError) -> SecureBytes {
    var out = ByteWriter()
    switch news {
    case .released(let sealed, let moment):
      out.number(HoldPacket.Word.matched.rawValue)
      out.number(moment)
      out.put(sealed)
    case .answered(let sealed, let moment, let touch):
      out.number(HoldPacket.answered)
      out.number(touch)
      out.number(moment)
      out.put(sealed)
    case .touch(let word, let touch):
      out.number(word.rawValue)
      out.number(touch)
    case .ended(let end): return try word(.notHeld, end)
    }
    return try packet(.done, out.bytes)
  }
}

/// Reads these packets, for receivers.
extension HoldPacket {
  /// The fields of a packet whose outcome is done; nil for a packet with another outcome.
  private static func fields(_ packet: RawSpan) -> [UInt8]? {
    let bytes = packet.octets
    guard bytes.starts(with: [DevicePacket.version, DevicePacket.Outcome.done.rawValue]) else { return nil }
    return Array(bytes.dropFirst(2))
  }

  /// Reads the answer to make a key: its public half, or the reason of a refusal; nil for a malformed one.
  public static func made(_ packet: RawSpan) -> Result<[UInt8], DeviceKeyError>? {
    guard let fields = fields(packet) else { return refusal(packet).map { .failure($0) } }
    return fields.count == SealedBox.publicKeySize ? .success(fields) : nil
  }

  /// Reads the answer to `hold`: the place of the key, or the reason of a refusal. Nil if the answer is malformed.
  public static func holds(_ packet: RawSpan) -> Result<State, DeviceKeyError>? {
    guard let fields = fields(packet) else { return refusal(packet).map { .failure($0) } }
    guard fields.count == 1, let state = State(rawValue: fields[0]), state == .inTPM || state == .inMemory else {
      return nil
    }
    return .success(state)
  }

  private static func refusal(_ packet: RawSpan) -> DeviceKeyError? {
    let bytes = packet.octets
    guard bytes.count > 2, bytes[0] == DevicePacket.version, bytes[1] >= DevicePacket.Outcome.unavailable.rawValue
    else { return nil }
    var input = ByteReader(Array(bytes.dropFirst(2)))
    return .unavailable(Reason(decoding: &input) ?? .device(.unexplained))
  }

  /// Reads the answer to `held`; nil if it is malformed.
  public static func held(_ packet: RawSpan) -> Held? {
    guard let fields = fields(packet), fields.count == 3, let state = State(rawValue: fields[0]) else { return nil }
    return Held(state, touchesLeft: fields[1], end: HoldEnd(rawValue: fields[2]))
  }

  /// Reads a word about a verification; nil if it is malformed.
  public static func word(_ packet: RawSpan) -> (word: Word, end: HoldEnd?)? {
    guard let fields = fields(packet), fields.count == 2, let word = Word(rawValue: fields[0]) else { return nil }
    return (word, HoldEnd(rawValue: fields[1]))
  }

  /// Reads a packet that came to a holder; nil if it is malformed.
  public static func news(_ packet: RawSpan) -> News? {
    guard let fields = fields(packet) else { return nil }
    if fields.count == 1 + MemoryLayout<UInt64>.size + sealedSize, fields[0] == Word.matched.rawValue {
      var input = ByteReader(Array(fields.dropFirst()))
      guard let moment: UInt64 = try? input.number(), let sealed = try? input.take(sealedSize) else { return nil }
      return .released(sealed, at: moment)
    }
    let touchSize = 1 + MemoryLayout<UInt32>.size
    if fields.count >= touchSize {
      var input = ByteReader(Array(fields.dropFirst()))
      guard let touch: UInt32 = try? input.number() else { return nil }
      if fields.count == touchSize { return Word(rawValue: fields[0]).map { .touch($0, touch) } }
      guard fields.count == touchSize + MemoryLayout<UInt64>.size + sealedSize, fields[0] == answered,
        let moment: UInt64 = try? input.number(), let sealed = try? input.take(sealedSize)
      else { return nil }
      return .answered(sealed, at: moment, touch: touch)
    }
    guard fields.count == 2, fields[0] == Word.notHeld.rawValue, let end = HoldEnd(rawValue: fields[1]) else {
      return nil
    }
    return .ended(end)
  }
}

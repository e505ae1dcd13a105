import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// How a question to a security key ended.
public enum SecurityKeyOutcome: UInt8, CaseIterable, Sendable {
  /// The work is done.
  case done = 0
  /// No security key is connected.
  case absent = 1
  /// Several are connected. The PIN must not go to the wrong one, which would count it.
  case several = 2
  /// The key lacks hmac-secret, credProtect or PINs.
  case incapable = 3
  /// The key has no PIN.
  case noPIN = 4
  /// The PIN is wrong.
  case wrongPIN = 5
  /// The key takes no PIN until it is connected anew.
  case pausedPIN = 6
  /// The key takes no PIN until it is reset, which ends all its credentials.
  case blockedPIN = 7
  /// The key has no credential of the vault.
  case stranger = 8
  /// The key is enrolled already.
  case enrolled = 9
  /// Nobody touched the key in time.
  case notTouched = 10
  /// The key was pulled out.
  case removed = 11
  /// The key is connected and does not answer, as while another program uses it.
  case busy = 12
  /// Anything else.
  case failed = 13
}

/// The answer of `latchkey-security-key`.
public struct SecurityKeyAnswer: ~Copyable {
  /// How it ended.
  public let outcome: SecurityKeyOutcome
  /// How many wrong PINs it takes until the key is blocked; nil if that is unknown.
  public var triesLeft: Int?
  /// The number of an unknown error; 0 for none.
  public var code: Int32 = 0
  /// The key's own name of its model; empty for none.
  public var product = ""
  /// The new credential; empty without one.
  public var credential: [UInt8] = []
  /// The answer to the challenge: 32 bytes that open the vault; empty without one.
  public var secret: SecureBytes

  /// An answer without a secret.
  public init(_ outcome: SecurityKeyOutcome) throws(SodiumError) {
    self.outcome = outcome
    secret = try SecureBytes(count: 0)
  }

  private static let productLimit = 128

  /// Writes the answer into the memory from which the question came.
  public borrowing func put(into memory: inout SharedMemory) throws(SodiumError) {
    var head = ByteWriter()
    head.number(outcome.rawValue)
    head.number(UInt8(clamping: triesLeft ?? 255))
    head.number(UInt32(bitPattern: code))
    head.text(product, limit: SecurityKeyAnswer.productLimit)
    head.short(credential)
    memory.write(try Framed.bytes(head.bytes, secret.bytes))
  }

  /// Reads an answer; nil for anything else.
  init?(taking memory: inout SharedMemory) {
    guard let content = try? memory.take(), let head = Framed.head(of: content) else { return nil }
    var input = ByteReader(head)
    guard let outcome = (try? input.number(UInt8.self)).flatMap(SecurityKeyOutcome.init),
      let tries = try? input.number(UInt8.self), let code = try? input.number(UInt32.self),
      let product = input.text(limit: SecurityKeyAnswer.productLimit), let credential = try? input.short(),
      let secret = Framed.secret(of: content), secret.count == 0 || secret.count == Key.size
    else { return nil }
    self.outcome = outcome
    triesLeft = tries == 255 ? nil : Int(tries)
    self.code = Int32(bitPattern: code)
    self.product = product
    self.credential = credential
    self.secret = secret
  }
}

import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// How a question to a security key ended.
public enum SecurityKeyOutcome: UInt8, CaseIterable, Sendable {
  /// The work is done.
  case done = 0
  /// No security key is connected.
  case absent = 1
  /// Several keys are connected. The PIN must not go to a wrong key, which would count it as a wrong PIN.
  case several = 2
  /// The key does not support hmac-secret, credProtect or PINs.
  case incapable = 3
  /// The key has no PIN.
  case noPIN = 4
  /// The PIN is wrong.
  case wrongPIN = 5
  /// The key accepts no PIN until it is disconnected and connected again.
  case pausedPIN = 6
  /// The key accepts no PIN until it is reset, and a reset destroys all its credentials.
  case blockedPIN = 7
  /// The key has no credential of the vault.
  case stranger = 8
  /// The key is already enrolled.
  case enrolled = 9
  /// Nobody touched the key in time.
  case notTouched = 10
  /// The key was pulled out.
  case removed = 11
  /// The key is connected but does not answer, for example because another program uses it.
  case busy = 12
  /// Any other failure.
  case failed = 13
}

/// The answer of `latchkey-security-key`.
public struct SecurityKeyAnswer: ~Copyable {
  /// How the question ended.
  public let outcome: SecurityKeyOutcome
  /// The number of wrong PINs after which the key will be blocked; nil if it is unknown.
  public var triesLeft: Int?
  /// The number of an unknown error; 0 if there is none.
  public var code: Int32 = 0
  /// The model name that the key reports; empty if there is none.
  public var product = ""
  /// The new credential; empty if there is none.
  public var credential: [UInt8] = []
  /// The answer to the challenge: 32 bytes that unlock the vault; empty if there is none.
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

  /// Reads an answer; nil if the memory has no valid answer.
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

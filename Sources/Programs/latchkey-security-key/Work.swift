import LatchkeyFIDO
import LatchkeySecurityKeys
import LatchkeySodium

/// Answers one question by the connected security key.
struct Work: ~Copyable {
  private let question: SecurityKeyQuestion

  init(_ question: consuming SecurityKeyQuestion) { self.question = question }

  borrowing func perform() throws -> SecurityKeyAnswer {
    let found = try FIDO.connected()
    guard let only = found.first else { return try SecurityKeyAnswer(.absent) }
    guard found.count == 1 else { return try SecurityKeyAnswer(.several) }
    var triesLeft: Int?
    do throws(FIDOError) {
      let device = try FIDODevice(only)
      guard try device.isCapable() else { return try told(.incapable, only) }
      guard device.hasPIN else { return try told(.noPIN, only) }
      do throws(FIDOError) { return try ask(device, only) } catch {
        if error == .wrongPIN { triesLeft = device.triesLeft }
        throw error
      }
    } catch { return try refusal(error, only, triesLeft) }
  }

  private borrowing func ask(_ device: borrowing FIDODevice, _ found: FIDO.Found) throws(FIDOError) -> SecurityKeyAnswer
  {
    switch question.work {
    case .look:
      var answer = try told(.done, found)
      answer.triesLeft = device.triesLeft
      return answer
    case .enroll: return try enroll(at: device, found)
    case .answer: return try answer(of: device, found)
    }
  }

  private borrowing func enroll(
    at device: borrowing FIDODevice, _ found: FIDO.Found
  ) throws(FIDOError) -> SecurityKeyAnswer {
    // If the vault has no credential yet, a random one serves to try the PIN.
    let known = question.credentials.isEmpty ? [Sodium.randomBytes(48)] : question.credentials
    if try has(known, device) == true { return try told(.enrolled, found) }
    SecurityKeyProgram.tellTouch()
    let credential = try device.makeCredential(for: question.party, user: question.vault, pin: question.pin)
    SecurityKeyProgram.tellTouch()
    var answer = try told(.done, found)
    answer.secret = try device.answer(to: question.challenge, for: question.party, [credential], pin: question.pin)
    answer.credential = credential
    return answer
  }

  private borrowing func answer(
    of device: borrowing FIDODevice, _ found: FIDO.Found
  ) throws(FIDOError) -> SecurityKeyAnswer {
    if try has(question.credentials, device) == false { return try told(.stranger, found) }
    SecurityKeyProgram.tellTouch()
    var answer = try told(.done, found)
    answer.secret = try device.answer(
      to: question.challenge, for: question.party, question.credentials, pin: question.pin)
    return answer
  }

  /// Whether the security key has one of the credentials; nil if it cannot tell without a touch.
  private borrowing func has(_ credentials: [[UInt8]], _ device: borrowing FIDODevice) throws(FIDOError) -> Bool? {
    do throws(FIDOError) {
      return try device.hasCredential(of: question.party, credentials, pin: question.pin)
    } catch {
      switch error {
      case .unsupported, .other, .notTouched: return nil
      default: throw error
      }
    }
  }

  private borrowing func told(_ outcome: SecurityKeyOutcome, _ found: FIDO.Found) throws(FIDOError) -> SecurityKeyAnswer
  {
    do throws(SodiumError) {
      var answer = try SecurityKeyAnswer(outcome)
      answer.product = found.product
      return answer
    } catch { throw .noMemory }
  }

  private borrowing func refusal(
    _ error: FIDOError, _ found: FIDO.Found, _ triesLeft: Int?
  ) throws -> SecurityKeyAnswer {
    var code: Int32 = 0
    let outcome: SecurityKeyOutcome
    switch error {
    case .wrongPIN: outcome = .wrongPIN
    case .pausedPIN: outcome = .pausedPIN
    case .blockedPIN: outcome = .blockedPIN
    case .noPIN: outcome = .noPIN
    case .noCredential: outcome = .stranger
    case .notTouched: outcome = .notTouched
    case .unsupported: outcome = .incapable
    case .noMemory: outcome = .failed
    // libfido2 reports the same error for a key that was pulled out and for a key that does not answer.
    case .interrupted:
      outcome = (try? FIDO.connected())?.contains { $0.path == found.path } == true ? .busy : .removed
    case .other(let number):
      outcome = .failed
      code = number
    }
    var answer = try told(outcome, found)
    answer.triesLeft = triesLeft
    answer.code = code
    return answer
  }
}

import CLatchkeyPAMModule

/// A finger at a screen locker: `auth sufficient pam_latchkey.so finger`, in front of pam_fprintd.so.
///
/// The device key service has fprintd verify the finger, and then gives the vault its key in the same step. So the module believes
/// a success only if root's service reports it. If a finger cannot unlock the vault, the module claims no reader and answers
/// PAM_IGNORE. Then the next line of the stack decides about the screen.
extension Call {
  /// How long the service may take to say whether a finger can unlock the vault, in milliseconds.
  private static let questionTime: Int64 = 1000
  /// How long a verification may take as a whole, in milliseconds. The service itself gives up after 30 seconds.
  private static let verificationTime: Int64 = 35_000
  private static let held: UInt8 = 11
  private static let verify: UInt8 = 12

  /// Lets the person in if a finger unlocked the vault.
  ///
  /// - Returns: the result for libpam. Only a verified finger is a success.
  func finger() -> Int32 {
    guard service.mayAskFinger else {
      Log.write(LOG_WARNING, "no finger asked for: not a screen locker: ", quoting: service.name, to: handle)
      return PAM_IGNORE
    }
    guard isHere else {
      log(LOG_DEBUG, "no finger asked for: the person is at another machine")
      return PAM_IGNORE
    }
    guard let name = Item.user.string(of: handle), let user = Account.number(of: name) else {
      Log.write(LOG_WARNING, "no finger asked for: the user's number is unknown", to: handle)
      return PAM_IGNORE
    }
    let deadline = Deadline(after: Call.questionTime)
    var failure = DeviceConnection.Failure.absent
    guard let connection = DeviceConnection(to: options.devicePath, until: deadline, failure: &failure) else {
      report(failure)
      return PAM_IGNORE
    }
    // The size is a constant below a kilobyte, so the buffer is on the stack.
    return withUnsafeTemporaryAllocation(byteCount: DeviceConnection.packetLimit, alignment: 1) { buffer in
      guard let start = buffer.baseAddress, isHeld(for: user, connection, start, until: deadline) else {
        return PAM_IGNORE
      }
      return verify(user, connection, start)
    }
  }

  /// A locker may name this machine as the remote host; with any other name, the person cannot see this reader.
  private var isHere: Bool {
    guard let host = Item.remoteHost.string(of: handle) else { return true }
    return host[0] == 0 || strcmp(host, ("localhost" as Literal).cString) == 0
  }

  /// Whether a finger of this user can unlock the vault, and no other locker already waits for a finger.
  private func isHeld(
    for user: UInt32, _ connection: borrowing DeviceConnection, _ buffer: UnsafeMutableRawPointer,
    until deadline: Deadline
  ) -> Bool {
    guard connection.send(Call.held, user: user, until: deadline) else {
      reportEnd()
      return false
    }
    guard let size = arrival(connection, buffer, until: deadline) else { return false }
    switch FingerReply.ofHeld(buffer, size: size) {
    case .state(.inChip, _), .state(.inMemory, _): return true
    case .state(.nothing, .none): log(LOG_DEBUG, "no finger asked for: the vault waits for the password")
    case .state(.nothing, let end):
      log(LOG_DEBUG, "no finger asked for: ", quoting: end.text)
    case .state(.verifying, _): log(LOG_DEBUG, "no finger asked for: another locker asks for one")
    case .refused: log(LOG_DEBUG, "no finger asked for: the device key service does not let this locker ask")
    default: reportInvalid()
    }
    return false
  }

  private func verify(
    _ user: UInt32, _ connection: borrowing DeviceConnection, _ buffer: UnsafeMutableRawPointer
  ) -> Int32 {
    guard let conversation = Conversation(of: handle) else { return PAM_CONV_ERR }
    let deadline = Deadline(after: Call.verificationTime)
    guard connection.send(Call.verify, user: user, until: deadline) else {
      reportEnd()
      return PAM_IGNORE
    }
    while let size = arrival(connection, buffer, until: deadline) {
      switch FingerReply.ofVerify(buffer, size: size) {
      case .step(let step):
        guard conversation.tell(step.text.cString, isError: step.isError) else {
          log(LOG_DEBUG, "the locker does not wait for a finger any more")
          return PAM_CONV_ERR
        }
      case .outcome(.notHeld, let end):
        log(LOG_WARNING, "a finger does not open the vault any more: ", quoting: end.text)
        return PAM_IGNORE
      case .outcome(let outcome, _):
        log(outcome.priority, outcome.text)
        return outcome.result
      case .refused:
        log(LOG_DEBUG, "no finger asked for: the device key service does not let this locker ask")
        return PAM_IGNORE
      default:
        reportInvalid()
        return PAM_IGNORE
      }
    }
    return PAM_IGNORE
  }

  /// The size of the next packet; nil if none came, which this logs.
  private func arrival(
    _ connection: borrowing DeviceConnection, _ buffer: UnsafeMutableRawPointer, until deadline: Deadline
  ) -> Int? {
    switch connection.receive(into: buffer, until: deadline) {
    case .packet(let size): return size
    case .late: Log.write(LOG_WARNING, "the device key service did not answer about the finger in time", to: handle)
    case .ended: reportEnd()
    }
    return nil
  }

  private func report(_ failure: DeviceConnection.Failure) {
    switch failure {
    case .absent: log(LOG_DEBUG, "no finger asked for: the device key service does not run")
    case .notRoots: Log.write(LOG_ERR, "no finger asked for: the device key service is not root's", to: handle)
    case .late: Log.write(LOG_WARNING, "the device key service did not answer about the finger in time", to: handle)
    case .system(let error):
      Log.write(LOG_ERR, "the device key service cannot be asked about the finger: ", error: error, to: handle)
    }
  }

  private func reportEnd() {
    Log.write(LOG_WARNING, "the device key service ended the connection about the finger", to: handle)
  }

  private func reportInvalid() {
    Log.write(LOG_ERR, "the device key service returned an invalid reply about the finger", to: handle)
  }
}

extension FingerReply.Outcome {
  /// The result for libpam. With PAM_IGNORE the next line decides about the screen, which may ask for a finger without the vault.
  fileprivate var result: Int32 {
    switch self {
    case .matched: PAM_SUCCESS
    case .usedUp: PAM_MAXTRIES
    case .givenUp: PAM_AUTHINFO_UNAVAIL
    case .notHeld, .noReader: PAM_IGNORE
    }
  }

  fileprivate var priority: Int32 {
    switch self {
    case .matched, .givenUp: LOG_DEBUG
    case .usedUp: LOG_NOTICE
    case .notHeld, .noReader: LOG_WARNING
    }
  }

  fileprivate var text: Literal {
    switch self {
    case .matched: "finger accepted: it opens the vault"
    case .usedUp: "no finger matched, and all tries are used up"
    case .givenUp: "no finger was given"
    case .notHeld: "a finger does not open the vault any more: "
    case .noReader: "the fingerprint reader is missing, busy or silent"
    }
  }
}

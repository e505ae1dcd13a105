import CLatchkeyPAM
import Glibc
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// One run of a PAM service's `auth` stack, as an application (`pam_authenticate(3)`).
public enum Authentication {
  /// The end of the run.
  package enum Outcome: Equatable, Sendable {
    /// The stack accepted the user.
    case accepted
    /// The stack refused, and the text comes from PAM. A plain refusal only says that an answer was wrong.
    case refused(String, isPlain: Bool)
    /// PAM could not be asked: a service file or a module is missing; the text says which, or comes from PAM.
    case unavailable(Phrase)
  }

  /// Runs the stack of `service` for `user`. The questions go to `conversation`, and the call returns only after the person has
  /// answered.
  ///
  /// - Parameters:
  ///   - folder: the folder of the service file, instead of `/etc/pam.d` (`pam_start_confdir(3)`).
  ///   - environment: variables for the modules (`pam_putenv(3)`), not this process's environment. No secrets.
  ///   - createsVault: whether the modules hear that the whole stack has accepted the user (`pam_setcred(3)`): Latchkey's own
  ///     module then creates the vault if it is missing.
  ///   - again: whether the person may try once more, after the stack refused an answer (`PAM_AUTH_ERR`). The next try then
  ///     belongs to the same transaction, as in login(1) and sudo(8), so modules that count failures see one for each try.
  ///
  /// libpam erases the given password when the stack ends. A service without a file of its own is unavailable, because libpam would
  /// use another stack instead.
  package static func run(
    service: String, user: String, terminal: String?, folder: String? = nil, environment: [String: String] = [:],
    createsVault: Bool = false, conversation: any Conversation, again: () -> Bool = { false }
  ) -> Outcome {
    if let complaint = ServiceFile(service, in: folder).complaint { return .unavailable(complaint) }
    let box = Unmanaged.passRetained(ConversationBox(conversation))
    defer { box.release() }
    var conversation = pam_conv(conv: converse, appdata_ptr: box.toOpaque())
    var handle: OpaquePointer?
    let started =
      if let folder { pam_start_confdir(service, user, &conversation, folder, &handle) } else {
        pam_start(service, user, &conversation, &handle)
      }
    guard started == PAM_SUCCESS, let handle else {
      return .unavailable(Phrase(verbatim: String(cString: pam_strerror(handle, started))))
    }
    box.takeUnretainedValue().handle = handle
    var result = PAM_SUCCESS
    if let terminal {
      result = pam_set_item(handle, PAM_TTY, terminal)
    }
    for (name, value) in environment where result == PAM_SUCCESS {
      result = pam_putenv(handle, "\(name)=\(value)")
    }
    if result == PAM_SUCCESS {
      repeat { result = pam_authenticate(handle, 0) } while result == PAM_AUTH_ERR && again()
    }
    let text = String(cString: pam_strerror(handle, result))
    // The result of the other modules does not matter, because they set up nothing for this process.
    if result == PAM_SUCCESS && createsVault { _ = pam_setcred(handle, Int32(PAM_ESTABLISH_CRED)) }
    pam_end(handle, result)
    box.takeUnretainedValue().conversation.endCheck()
    switch result {
    case PAM_SUCCESS: return .accepted
    case PAM_SYSTEM_ERR, PAM_ABORT, PAM_AUTHINFO_UNAVAIL, PAM_MODULE_UNKNOWN, PAM_OPEN_ERR, PAM_SYMBOL_ERR:
      return .unavailable(Phrase(verbatim: text))
    default: return .refused(text, isPlain: result == PAM_AUTH_ERR || result == PAM_MAXTRIES)
    }
  }
}

/// The object that PAM hands back to us with each message.
private final class ConversationBox {
  let conversation: any Conversation
  /// libpam's buffers, while libpam may ask.
  var handle: OpaquePointer?

  init(_ conversation: any Conversation) {
    self.conversation = conversation
  }
}

private typealias Converse =
  @convention(c) (
    Int32, UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
    UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?, UnsafeMutableRawPointer?
  ) -> Int32

/// The function by which libpam reaches the conversation. libpam erases and frees the memory of the answers.
private let converse: Converse =
  { count, messages, responses, data in
    guard count > 0, count <= PAM_MAX_NUM_MSG, let messages, let responses, let data,
      let memory = calloc(Int(count), MemoryLayout<pam_response>.size)
    else { return PAM_CONV_ERR }
    let answers = memory.assumingMemoryBound(to: pam_response.self)
    let box = Unmanaged<ConversationBox>.fromOpaque(data).takeUnretainedValue()
    let conversation = box.conversation
    for index in 0..<Int(count) {
      guard let message = messages[index]?.pointee else { continue }
      let text = message.msg.map { String(cString: $0) } ?? ""
      let asked: ConversationMessage =
        switch message.msg_style {
        case PAM_PROMPT_ECHO_OFF: .secret(text)
        case PAM_PROMPT_ECHO_ON: .visible(text)
        case PAM_ERROR_MSG: .error(text)
        default: .info(text)
        }
      let wantsAnswer = message.msg_style == PAM_PROMPT_ECHO_OFF || message.msg_style == PAM_PROMPT_ECHO_ON
      conversation.answer(asked) { answer in
        guard wantsAnswer, let copy = calloc(1, answer.count + 1) else { return }
        answer.bytes.withUnsafeBytes { bytes in
          if let start = bytes.baseAddress { copy.copyMemory(from: start, byteCount: bytes.count) }
        }
        answers[index].resp = copy.assumingMemoryBound(to: CChar.self)
      }
      guard !wantsAnswer || answers[index].resp != nil else {
        for done in 0..<index {
          guard let answer = answers[done].resp else { continue }
          explicit_bzero(answer, strlen(answer))
          free(answer)
        }
        free(memory)
        return PAM_CONV_ERR
      }
    }
    responses.pointee = answers
    if (0..<Int(count)).contains(where: { answers[$0].resp != nil }) {
      // The time is noted before the modules check the answer, because the check may take long. Latchkey's own module passes the
      // time on.
      if let handle = box.handle { _ = pam_putenv(handle, "LATCHKEY_GIVEN=\(Process.microsecondsSinceBoot)") }
      conversation.check()
    }
    return PAM_SUCCESS
  }

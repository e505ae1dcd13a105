import CLatchkeyPAMModule

/// The application's way to ask the person something.
struct Conversation {
  /// How a question ended.
  enum Answer {
    case given
    case empty
    case tooLong
    /// There is no answer: the person cancelled, or the application cannot ask.
    case failed
  }

  private let item: pam_conv

  /// nil if the application has no conversation.
  init?(of handle: OpaquePointer) {
    var value: UnsafeRawPointer?
    guard pam_get_item(handle, PAM_CONV, &value) == PAM_SUCCESS, let value else { return nil }
    item = value.assumingMemoryBound(to: pam_conv.self).pointee
  }

  /// Shows a message.
  ///
  /// - Returns: whether the application accepted the message. Most callers need not know.
  @discardableResult
  func tell(_ text: UnsafePointer<CChar>?, isError: Bool = false) -> Bool {
    guard let function = item.conv else { return false }
    var message = pam_message(msg_style: isError ? PAM_ERROR_MSG : PAM_TEXT_INFO, msg: text)
    var responses: UnsafeMutablePointer<pam_response>?
    let result = withUnsafePointer(to: &message) { pointer in
      var messages: UnsafePointer<pam_message>? = pointer
      return function(1, &messages, &responses, item.appdata_ptr)
    }
    guard result == PAM_SUCCESS else { return false }
    if let responses { Conversation.release(responses) }
    return true
  }

  /// Erases and frees one answer. libpam leaves this to the module.
  @inline(never)
  private static func release(_ responses: UnsafeMutablePointer<pam_response>) {
    if let text = responses.pointee.resp {
      explicit_bzero(text, strlen(text))
      free(text)
    }
    free(responses)
  }

  /// Asks without echo, and puts the answer into the locked pages of the request. The application's copy of the answer is erased
  /// and freed.
  func ask(_ question: UnsafePointer<CChar>?, into request: inout Request) -> Answer {
    guard let function = item.conv else { return .failed }
    var message = pam_message(msg_style: PAM_PROMPT_ECHO_OFF, msg: question)
    var responses: UnsafeMutablePointer<pam_response>?
    let result = withUnsafePointer(to: &message) { pointer in
      var messages: UnsafePointer<pam_message>? = pointer
      return function(1, &messages, &responses, item.appdata_ptr)
    }
    // After a failed conversation the application may have freed the answers, so this does not touch them.
    guard result == PAM_SUCCESS, let responses else { return .failed }
    defer { Conversation.release(responses) }
    guard let text = responses.pointee.resp else { return .failed }
    let answer = Text(text, limit: Token.limit)
    guard !answer.isEmpty else { return .empty }
    guard answer.count <= Token.limit else { return .tooLong }
    request.append(field: answer)
    return .given
  }
}

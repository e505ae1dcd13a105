import Glibc
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySodium
import LatchkeySystemd

/// One signature by a security key. A separate process, OpenSSH's `ssh-sk-helper`, gets it from the device, because foreign
/// libraries may speak to the device. The event loop reports the end of this process.
///
/// The helper gets the key's handle and a PIN by a socket, and answers once. If the device requires a PIN, the agent asks the
/// person and starts the helper once more.
final class SecurityKeySigning {
  /// The helper's paths on different distributions.
  private static let programs = [
    "/usr/lib/openssh/ssh-sk-helper", "/usr/libexec/openssh/ssh-sk-helper", "/usr/lib/ssh/ssh-sk-helper",
    "/usr/libexec/ssh-sk-helper",
  ]
  /// The variable by which OpenSSH's own programs find the helper.
  private static let variable = "SSH_SK_HELPER"
  /// The device may wait this long for a touch. Most devices give up earlier.
  private static let limit = Duration.seconds(60)

  private let loop: EventLoop
  private let questions: QuestionQueue
  private let wording: SignatureWording
  private let data: [UInt8]
  /// Whether the person can be asked for a PIN.
  private let canAsk: Bool
  private let completion: ([UInt8]?) -> Void
  let needsTouch: Bool
  private var key: PrivateKey?
  private var helper: StartedProgram?
  private var socket: FileDescriptor?
  private var request: SecureBytes?
  private var sent = 0
  private var source: EventSource?
  private var notice: TouchNotice?
  private var question: Question?
  private var wasAskedForPIN = false

  /// Prepares a signature. ``begin()`` starts the helper.
  ///
  /// - Parameter completion: called once, with the signature, or with nil if there is none.
  init(
    _ key: consuming PrivateKey, of data: [UInt8], wording: SignatureWording, canAsk: Bool, questions: QuestionQueue,
    loop: EventLoop, completion: @escaping ([UInt8]?) -> Void
  ) {
    needsTouch = key.securityKey?.needsTouch ?? true
    self.key = consume key
    (self.data, self.wording, self.canAsk, self.questions, self.loop) = (data, wording, canAsk, questions, loop)
    self.completion = completion
  }

  /// Ends the helper at once. The completion is then never called.
  func cancel() {
    helper?.abandon(signal: SIGKILL)
    if let question { questions.withdraw(question) }
    clear()
  }

  /// Forgets the key. Later it calls the completion without a signature.
  func forget() {
    key = nil
    request = nil
    helper?.kill()
  }

  private func clear() {
    (helper, source, notice, question) = (nil, nil, nil, nil)
    socket = nil
    request = nil
    key = nil
  }

  private func end(_ signature: [UInt8]?) {
    clear()
    completion(signature)
  }

  /// Starts the helper.
  func begin() {
    let none: [UInt8] = []
    begin(pin: none.span.bytes)
  }

  private func begin(pin: RawSpan) {
    guard let key = key.take() else { return end(nil) }
    let provider = wording.key.item.provider ?? SecurityKey.internalProvider
    let made = try? SecurityKeyHelper.request(data, by: key, provider: provider, pin: pin)
    self.key = consume key
    request = consume made
    sent = 0
    do {
      let (own, theirs) = try FileDescriptor.connectedPair()
      socket = FileDescriptor(owning: own)
      let other = FileDescriptor(owning: theirs)
      let child = try ChildProcess(Self.program, [], input: other.number, output: other.number)
      helper = try StartedProgram(child, loop: loop) { [unowned self] in finished() }
      helper?.kill(after: Self.limit)
      source = try loop.addIO(fd: own, events: .writable) { [unowned self] _ in write() }
      if needsTouch { notice = try? TouchNotice(wording.touch, loop: loop, as: questions) }
    } catch {
      Journal.log(.warning, "no program speaks to security keys: \(error)")
      helper?.abandon(signal: SIGKILL)
      end(nil)
    }
  }

  private static var program: String {
    if let chosen = getenv(variable).map({ String(cString: $0) }), !chosen.isEmpty { return chosen }
    return programs.first { access($0, X_OK) == 0 } ?? programs[0]
  }

  private func write() {
    guard let bytes = request.take(), let number = socket?.number else { return source = nil }
    let count = Self.send(bytes, from: sent, to: number)
    if count > 0 { sent += count }
    // If sending fails, the helper has ended, and its end will be reported.
    guard count >= 0 || errno == EAGAIN || errno == EINTR, sent < bytes.count else { return source = nil }
    request = consume bytes
  }

  private static func send(_ bytes: borrowing SecureBytes, from place: Int, to socket: Int32) -> Int {
    let rest = bytes.bytes.extracting(droppingFirst: place)
    return SystemCall.send(socket, rest, flags: Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  /// Called when the helper has ended. Its answer is in the socket.
  private func finished() {
    (helper, notice, source) = (nil, nil, nil)
    let answer = SecurityKeyHelper.answer(received())
    socket = nil
    guard key != nil else { return end(nil) }
    switch answer {
    case .signature(let signature):
      // A library may return any bytes, so the signature is checked.
      guard isRight(signature) else {
        Journal.log(.warning, "a security key gave a signature of another key")
        return end(nil)
      }
      end(signature)
    case .needsPIN where canAsk && !wasAskedForPIN: askForPIN()
    case .needsPIN: end(nil)
    case .failed(let number):
      Journal.log(.warning, "ssh-sk-helper could not sign: OpenSSH's error \(number)")
      end(nil)
    case .otherVersion(let version):
      Journal.log(.warning, "ssh-sk-helper speaks version \(version) of its protocol, which is not known here")
      end(nil)
    case .malformed:
      Journal.log(.warning, "ssh-sk-helper gave no answer")
      end(nil)
    }
  }

  private func isRight(_ signature: [UInt8]) -> Bool {
    let data = data
    return wording.key.item.publicKey.isSignature(signature, of: data.span.bytes)
  }

  private func received() -> [UInt8] {
    guard let number = socket?.number else { return [] }
    var bytes = [UInt8](repeating: 0, count: SecurityKeyHelper.answerLimit)
    var filled = 0
    while filled < bytes.count {
      let count = SystemCall.receive(number, into: &bytes, at: filled, flags: Int32(MSG_DONTWAIT))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      filled += count
    }
    return Array(bytes.prefix(filled))
  }

  private func askForPIN() {
    wasAskedForPIN = true
    let asked = Question(wording.pin) { [unowned self] isGiven in
      let pin = question?.takeAnswer()
      question = nil
      guard isGiven, let pin, key != nil else { return end(nil) }
      begin(pin: pin.bytes)
    }
    question = asked
    questions.ask(asked)
  }
}

import Glibc
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// A question to the person about a key.
final class Question {
  /// The kinds of questions.
  enum Kind: String {
    /// Whether a key may sign.
    case agreement
    /// Whether a host's requests for the key are allowed until the lock.
    case host
    /// The PIN of a security key, which the program writes to its standard output.
    case pin
    /// A notice, which the person may read until the program must end.
    case notice
  }

  /// The texts of a question, and the terminal of the program that caused it.
  struct Text: Equatable {
    var message: String
    var detail: String
    var terminal: String
    var kind = Kind.agreement

    private static let separator = "\0"

    /// The question in the form that the asking program reads.
    var bytes: [UInt8] { Array([message, detail, terminal, kind.rawValue].joined(separator: Self.separator).utf8) }

    init(message: String, detail: String, terminal: String, kind: Kind = .agreement) {
      (self.message, self.detail, self.terminal, self.kind) = (message, detail, terminal, kind)
    }

    /// Reads a question; nil for any other bytes.
    init?(_ bytes: [UInt8]) {
      let parts = String(decoding: bytes, as: UTF8.self).split(separator: "\0", omittingEmptySubsequences: false)
      guard parts.count == 4, let kind = Kind(rawValue: String(parts[3])) else { return nil }
      self.init(message: String(parts[0]), detail: String(parts[1]), terminal: String(parts[2]), kind: kind)
    }

    /// A pipe with the question, for the asking program.
    func pipe() throws(PosixError) -> FileDescriptor {
      try FileDescriptor.pipeOfOnePage { end throws(PosixError) in
        let bytes = bytes
        guard write(end, bytes, bytes.count) == bytes.count else { throw PosixError("write") }
      }
    }
  }

  /// The longest PIN that FIDO allows, in bytes.
  static let pinLimit = 63

  let text: Text
  /// The PIN that the person gave.
  fileprivate(set) var answer: SecureBytes?
  fileprivate var completion: ((Bool) -> Void)?

  init(_ text: Text, _ completion: @escaping (Bool) -> Void) {
    self.text = text
    self.completion = completion
  }

  /// Takes the PIN, which is erased with the value.
  func takeAnswer() -> SecureBytes? { answer.take() }

  fileprivate func readAnswer(_ pipe: borrowing FileDescriptor) {
    guard var bytes = try? SecureBytes(count: Self.pinLimit + 1) else { return }
    let count = SystemCall.read(pipe.number, into: bytes.mutableBytes)
    pipe.overwritePipe()
    guard (1...Self.pinLimit).contains(count) else { return }
    answer = try? bytes.prefix(count)
  }

  fileprivate func end(_ isAgreed: Bool) {
    let completion = self.completion
    self.completion = nil
    completion?(isAgreed)
  }
}

/// The questions that wait for the person. The agent asks one question at a time. A separate program asks it, so that the agent
/// never waits for a window.
final class QuestionQueue {
  /// The most questions that may wait. A further one is answered with no.
  private static let limit = 32
  /// The person has this time for an answer.
  static let personLimit = Duration.seconds(120)
  /// A program that was told to end is killed after this time.
  static let endLimit = Duration.seconds(2)

  private let loop: EventLoop
  let program: String
  let arguments: [String]
  private var waiting: [Question] = []
  private var child: ChildProcess?
  /// The pipe into which the program writes a PIN.
  private var output: FileDescriptor?
  /// Whether the program was told to end.
  private var isStopping = false
  private var source: EventSource?
  private var limit: EventSource?
  /// While this timer exists, no question appears.
  private var quiet: EventSource?

  /// - Parameter program: the program that asks. It gets the question by its standard input, and exits with 0 for yes.
  init(loop: EventLoop, program: String, arguments: [String]) {
    self.loop = loop
    self.program = program
    self.arguments = arguments
  }

  /// Puts a question behind all questions that already wait.
  func ask(_ question: Question) {
    guard waiting.count < Self.limit else { return question.end(false) }
    waiting.append(question)
    begin()
  }

  /// Takes a question back. Its completion is then never called.
  func withdraw(_ question: Question) {
    question.completion = nil
    guard let place = waiting.firstIndex(where: { $0 === question }) else { return }
    if place == 0, child != nil { return stop() }
    waiting.remove(at: place)
  }

  /// Answers all questions with no.
  func refuseAll() {
    stop()
    for question in waiting { question.end(false) }
  }

  /// Ends the asking program. Its end begins the next question.
  private func stop() {
    guard let child, !isStopping else { return }
    isStopping = true
    kill(child.pid, SIGTERM)
    limit = try? loop.addTimer(after: Self.endLimit) { kill(child.pid, SIGKILL) }
  }

  /// Asks the next question, unless a question is on the screen or was on it a moment ago.
  private func begin() {
    guard child == nil, quiet == nil else { return }
    waiting.removeAll { $0.completion == nil }
    guard let question = waiting.first else { return }
    do {
      let input = try question.text.pipe()
      let started: ChildProcess
      if question.text.kind == .pin {
        var new: ChildProcess?
        output = try FileDescriptor.pipeOfOnePage { end throws(PosixError) in
          new = try ChildProcess(program, arguments, input: input.number, output: end)
        }
        guard let new else { throw PosixError("pipe") }
        started = new
      } else {
        started = try ChildProcess(program, arguments, input: input.number)
      }
      child = started
      source = try loop.addIO(fd: started.descriptor, events: .readable) { [unowned self] _ in finished() }
      limit = try loop.addTimer(after: Self.personLimit + .seconds(10)) { [unowned self] in stop() }
    } catch {
      Journal.log(.warning, "nobody can be asked about an ssh key: \(error)")
      if let child { kill(child.pid, SIGKILL) }
      clear()
      waiting.removeFirst()
      question.end(false)
      begin()
    }
  }

  private func clear() {
    source = nil
    limit = nil
    child = nil
    output = nil
    isStopping = false
  }

  private func finished() {
    let status = child?.reap() ?? -1
    let question = waiting.removeFirst()
    if status == 0, let output = output.take() { question.readAnswer(output) }
    clear()
    if status == 2 { Journal.log(.warning, "nobody can be asked about an ssh key: there is no prompter") }
    if status != 2 {
      quiet = try? loop.addTimer(after: status == 0 ? QuietTime.answered : QuietTime.unanswered) { [unowned self] in
        quiet = nil
        begin()
      }
    }
    question.end(status == 0)
    // The forwarding host knows the moment at which the person said yes. The longer quiet time keeps a second key press from
    // answering the next question about this host.
    if waiting.first?.text.kind == .host { quiet?.rearm(after: QuietTime.unanswered) }
    begin()
  }
}

import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// A notice that tells the person to touch a security key. The asking program shows it until this object is freed.
final class TouchNotice {
  private let program: StartedProgram

  /// - Parameter questions: the queue that knows the asking program.
  init(_ text: Question.Text, loop: EventLoop, as questions: QuestionQueue) throws {
    let input = try text.pipe()
    let child = try ChildProcess(questions.program, questions.arguments, input: input.number)
    program = try StartedProgram(child, loop: loop) {}
  }

  deinit { program.abandon(signal: SIGTERM) }
}

import Glibc
import LatchkeyPosix
import LatchkeySystemd

/// Tells the person to touch a security key, by the program that asks, until this object goes.
final class TouchNotice {
  private let program: StartedProgram

  /// - Parameter questions: the queue that has the program for questions.
  init(_ text: Question.Text, loop: EventLoop, as questions: QuestionQueue) throws {
    let input = try text.pipe()
    let child = try ChildProcess(questions.program, questions.arguments, input: input.number)
    program = try StartedProgram(child, loop: loop) {}
  }

  deinit { program.abandon(signal: SIGTERM) }
}

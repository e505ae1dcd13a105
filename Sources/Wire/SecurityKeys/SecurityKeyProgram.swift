import Glibc
import LatchkeyPosix
import LatchkeySodium

/// Starts `latchkey-security-key` for one question.
public struct SecurityKeyProgram {
  /// The program's name.
  public static let name = "latchkey-security-key"
  /// The byte on the pipe that says that the key waits for a touch.
  static let touch: UInt8 = 1

  private let path: String

  /// The program at a path.
  public init(_ path: String) { self.path = path }

  /// Finds the installed program, relative to a program in `folder`, or the program that was built beside it; nil if there is none.
  public static func find(beside folder: String) -> SecurityKeyProgram? {
    let places = [folder + "/../libexec/" + name, folder + "/" + name]
    return places.first { access($0, X_OK) == 0 }.map { SecurityKeyProgram($0) }
  }

  /// Starts the program for one question.
  ///
  /// - Throws: an error if the program cannot be started.
  public func start(_ question: borrowing SecurityKeyQuestion) throws -> RunningQuestion {
    try RunningQuestion(path, question)
  }

  /// Runs the program for one question, and waits for its end.
  ///
  /// - Parameter onTouch: called each time that the key begins to wait for a touch.
  /// - Throws: an error if the program cannot be started.
  public func ask(
    _ question: borrowing SecurityKeyQuestion, onTouch: () -> Void = {}
  ) throws -> SecurityKeyAnswer {
    let running = try start(question)
    while !running.isOver {
      let touches = running.touches
      running.receive()
      if running.touches > touches { onTouch() }
    }
    return try running.takeAnswer()
  }

  /// Says on standard output that the key waits for a touch.
  public static func tellTouch() {
    var byte = touch
    _ = write(STDOUT_FILENO, &byte, 1)
  }
}

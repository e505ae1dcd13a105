import Glibc
import LatchkeyGettext

/// The question before a command that removes something for good.
enum Confirmation {
  /// Refuses if there is no terminal on which a person can be asked.
  static func requireTerminal() throws {
    guard isatty(STDIN_FILENO) == 1 else {
      throw Failure.declined(
        translated(
          "there is no terminal to ask for confirmation. To make the change, run the command again with --yes."))
    }
  }

  /// Continues only after the answer `yes`, which is the same in every language.
  static func ask() throws {
    StandardStream.output.show(translated("Type 'yes' to go on: "))
    guard readLine()?.split(whereSeparator: \.isWhitespace).map({ $0.lowercased() }) == ["yes"] else {
      throw Failure.declined(translated("the answer was not 'yes', so nothing was changed."))
    }
  }
}

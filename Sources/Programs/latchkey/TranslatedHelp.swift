import ArgumentParser
import LatchkeyGettext

extension ArgumentHelp {
  /// What an option or argument is for, in the person's language.
  static func translated(_ phrase: Phrase) -> ArgumentHelp { ArgumentHelp(LatchkeyGettext.translated(phrase)) }
}

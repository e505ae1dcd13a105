import ArgumentParser
import LatchkeyGettext
import LatchkeyText

extension ArgumentHelp {
  /// The help of an option or argument, in the person's language.
  static func translated(_ phrase: Phrase) -> ArgumentHelp { ArgumentHelp(LatchkeyGettext.translated(phrase)) }
}

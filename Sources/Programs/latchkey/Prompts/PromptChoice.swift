import ArgumentParser
import LatchkeyGettext

/// Whether a locked item may raise a prompt.
struct PromptChoice: ParsableArguments {
  @Flag(
    name: .customLong("no-prompt"),
    help: .translated("Never ask you to unlock something: fail at once, or leave out what is locked."))
  var isForbidden = false
}

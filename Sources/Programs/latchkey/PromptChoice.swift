import ArgumentParser

/// Whether a locked item may raise a prompt.
struct PromptChoice: ParsableArguments {
  @Flag(
    name: .customLong("no-prompt"), help: "Never ask you to unlock something: fail at once, or leave it out.")
  var isForbidden = false
}

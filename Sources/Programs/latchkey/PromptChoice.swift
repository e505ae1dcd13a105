import ArgumentParser

/// Whether a locked item may raise a prompt.
struct PromptChoice: ParsableArguments {
  @Flag(
    name: .customLong("no-prompt"), help: "Fail at once where something is locked, instead of asking you to unlock it.")
  var isForbidden = false
}

import LatchkeySystemd

/// The arguments of latchkey-app.
struct Options {
  /// The page that is shown first.
  var page: PageName?

  static let usage = """
    usage: latchkey-app [--page NAME]

    The window of the Latchkey vault.
      --page NAME   begin with that page: items, yesterday, moving-in, unlocking, health, who-asked
    """

  /// Reads the arguments.
  init(_ arguments: [String]) throws(ProgramArguments.Failure) {
    var rest = ProgramArguments(arguments)
    while let argument = try rest.next() {
      switch argument {
      case "--page":
        guard let name = PageName(rawValue: try rest.value()) else { throw .usage }
        page = name
      // The session's bus starts the program with this option.
      case "--gapplication-service": continue
      default: throw .usage
      }
    }
  }
}

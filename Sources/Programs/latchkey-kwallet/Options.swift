/// The arguments of latchkey-kwallet.
struct Options {
  static let usage = """
    usage: latchkey-kwallet

    KWallet's interface in front of the Latchkey vault: org.kde.KWallet under the names org.kde.kwalletd5 and
    org.kde.kwalletd6 of the session bus, which starts this program for KDE's programs.
    """

  enum Failure: Error {
    case usage
    case help
  }

  init(_ arguments: [String]) throws(Failure) {
    for argument in arguments.dropFirst() {
      switch argument {
      case "--help", "-h": throw .help
      default: throw .usage
      }
    }
  }
}

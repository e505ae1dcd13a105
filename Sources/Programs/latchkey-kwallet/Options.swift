import LatchkeySystemd

/// The arguments of latchkey-kwallet.
struct Options {
  static let usage = """
    usage: latchkey-kwallet

    KWallet's interface in front of the Latchkey vault: org.kde.KWallet under the names org.kde.kwalletd5 and
    org.kde.kwalletd6 of the session bus, which starts this program for KDE's programs.
    """

  /// Takes no arguments.
  static func check(_ arguments: [String]) throws(ProgramArguments.Failure) {
    var rest = ProgramArguments(arguments)
    guard try rest.next() == nil else { throw .usage }
  }
}

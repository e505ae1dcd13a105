/// The kind of credential that a program gives to a context. The numbers are Apple's.
public enum LACredentialType: Int, Sendable {
  /// The passphrase of items with `applicationPassword`.
  case applicationPassword = 0
  /// The number of a smart card. Linux does not accept it.
  case smartCardPIN = -3
}

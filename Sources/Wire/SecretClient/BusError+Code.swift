import LatchkeySystemd

extension BusError {
  /// The code of the vault's reason, as "vault.notCreated". The code stands first behind the message; it is empty if nothing
  /// stands there. The client library needs no more of a reason, and does not link its sentences.
  package var code: String {
    guard detail.count >= 2 else { return "" }
    return String(decoding: detail.dropFirst(2).prefix(Int(detail[0]) | Int(detail[1]) << 8), as: UTF8.self)
  }
}

import LatchkeySystemd

extension BusError {
  /// The code of the vault's reason, such as "vault.notCreated". It comes first in the data after the message, and is empty if
  /// there are no data. The client library needs only the code, so it does not link the sentences of reasons.
  package var code: String {
    guard detail.count >= 2 else { return "" }
    return String(decoding: detail.dropFirst(2).prefix(Int(detail[0]) | Int(detail[1]) << 8), as: UTF8.self)
  }
}

import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySodium
import LatchkeySystemd

/// A connection to the vault. It is made at its first use. A new one is made after a restart of the vault, and in the child of a
/// fork.
final class VaultAccess: Sendable {
  /// The kind of a call, which decides what happens if its answer is lost.
  enum Kind {
    /// The call only reads, so it may be repeated.
    case reading
    /// The vault may have done the change, so the call is not repeated.
    case writing
    /// The person may have been asked already, and must not be asked twice, so the call is not repeated.
    case asking
  }

  private let link = PerProcess<VaultLink>()
  /// For how many seconds a person's answer allows reading again; 0 for one use.
  let reuse: UInt32

  /// - Parameter reuse: for how many seconds a person's answer allows reading again; 0 for one use.
  init(reuse: UInt32 = 0) { self.reuse = reuse }

  /// Makes a call. If the call could not be sent, or if it only reads and got no answer, this repeats it once on a new connection.
  func with<Result>(
    _ kind: Kind, _ body: (VaultLink) throws(BusError) -> Result
  ) throws(ItemFailure) -> Result {
    try link.withValue { (link: inout VaultLink?) throws(ItemFailure) in
      if let present = link {
        // Nothing was called yet, so if this connection has failed, a new one can replace it.
        var isLost = true
        do throws(BusError) {
          try present.connection.catchUp()
          isLost = present.connection.isLost
        } catch {}
        do throws(BusError) { if !isLost { return try body(present) } } catch {
          if error.isUnsent || error.isUnanswered { link = nil }
          guard error.isUnsent || error.isUnanswered && kind == .reading else {
            throw ItemFailure(error, of: kind)
          }
        }
        link = nil
      }
      let made: VaultLink
      do throws(ConnectionFailure) { made = try VaultLink(reuse: reuse) } catch { throw ItemFailure(error) }
      link = made
      do throws(BusError) { return try body(made) } catch {
        if error.isUnsent || error.isUnanswered { link = nil }
        throw ItemFailure(error, of: kind)
      }
    }
  }
}

extension ItemFailure {
  /// The failure of a call. A special code says that nobody knows whether the vault made the change.
  fileprivate init(_ error: BusError, of kind: VaultAccess.Kind) {
    if error.isUnanswered, kind == .writing { self.init(errSecIO) } else { self.init(error) }
  }
}

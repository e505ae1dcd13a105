import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySodium
import LatchkeySystemd

/// A connection to the vault. It is made when it is first needed, and again after the vault was restarted, and in the child of
/// a fork.
final class VaultAccess: Sendable {
  /// The effect of a call, which matters when its answer is lost.
  enum Kind {
    /// The call may be repeated.
    case reading
    /// The call may have been carried out, and is not repeated.
    case writing
    /// A person may have been asked, and must not be asked twice.
    case asking
  }

  private let link = PerProcess<VaultLink>()
  /// For how many seconds a person's answer allows reading again; 0 for one use.
  let reuse: UInt32

  /// - Parameter reuse: for how many seconds a person's answer allows reading again; 0 for one use.
  init(reuse: UInt32 = 0) { self.reuse = reuse }

  /// Calls. If the call could not be sent, or only reads and got no answer, it is made once more, on a new connection.
  func with<Result>(
    _ kind: Kind, _ body: (VaultLink) throws(BusError) -> Result
  ) throws(ItemFailure) -> Result {
    try link.withValue { (link: inout VaultLink?) throws(ItemFailure) in
      if let present = link {
        // Nothing was called yet. If this connection fails, another can be made.
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
  /// The code for the result of a call. A special code says that it is unknown whether something was written.
  fileprivate init(_ error: BusError, of kind: VaultAccess.Kind) {
    if error.isUnanswered, kind == .writing { self.init(errSecIO) } else { self.init(error) }
  }
}

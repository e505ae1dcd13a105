import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySodium
import LatchkeySystemd

/// A connection to the vault that is made when it is first needed, and made anew when it is gone: after the vault was
/// started again, and in the child of a fork.
final class VaultAccess: Sendable {
  /// The effect of a call, which matters when its answer is lost.
  enum Kind {
    /// It may be done again.
    case reading
    /// It may have been done, and is not done again.
    case writing
    /// A person may have been asked, and is not asked twice.
    case asking
  }

  private let link = PerProcess<VaultLink>()
  /// For how many seconds an answer of the person's is for reading again; 0 for one use.
  let reuse: UInt32

  /// - Parameter reuse: for how many seconds an answer of the person's is for reading again; 0 for one use.
  init(reuse: UInt32 = 0) { self.reuse = reuse }

  /// Calls, and once more where the vault that was there before is gone and it is certain that nothing was done, or nothing
  /// can be done twice.
  func with<Result>(
    _ kind: Kind, _ body: (VaultLink) throws(BusError) -> Result
  ) throws(ItemFailure) -> Result {
    try link.withValue { (link: inout VaultLink?) throws(ItemFailure) in
      if let present = link {
        // Nothing was called yet: if this one fails, another can be made.
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
  /// The code for the result of a call. Where nobody knows whether something was written, it says so.
  fileprivate init(_ error: BusError, of kind: VaultAccess.Kind) {
    if error.isUnanswered, kind == .writing { self.init(errSecIO) } else { self.init(error) }
  }
}

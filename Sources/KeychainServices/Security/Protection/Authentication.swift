/// How a call may ask the person.
package struct Authentication: Sendable {
  /// The behaviour if the person must be asked.
  package enum Interaction: Sendable {
    /// Asks the person.
    case allowed
    /// Fails with `errSecInteractionNotAllowed`.
    case forbidden
    /// Leaves the item out.
    case skipped
  }

  /// The behaviour.
  package var interaction = Interaction.allowed
  /// The text for the person; nil if there is none.
  package var reason: String?
  /// The program's context.
  package var context: (any AuthenticationContext)?

  /// Takes the value of one of the `kSecUse…` keys.
  ///
  /// - Returns: Whether there is such a key.
  /// - Throws: `errSecParam` for a value that the key does not accept.
  mutating func take(_ value: Any, for key: String) throws(ItemFailure) -> Bool {
    switch key {
    case "u_AuthCtx":
      guard let context = value as? any AuthenticationContext else { throw .parameter }
      self.context = context
    case "u_AuthUI":
      switch value as? String {
      case "u_AuthUIA": break
      case "u_AuthUIF": interaction = .forbidden
      case "u_AuthUIS": interaction = .skipped
      default: throw .parameter
      }
    case "u_NoAuthUI":
      // If the dictionary has the older and the newer key, the newer key counts, because it can also say that items are left out.
      if try Bool(term: value), interaction == .allowed { interaction = .forbidden }
    case "u_OpPrompt":
      guard let text = value as? String else { throw .parameter }
      reason = text
    default: return false
    }
    return true
  }

  /// Applies the settings of the context.
  ///
  /// - Throws: `errSecAuthFailed` for an invalidated context.
  mutating func settle() throws(ItemFailure) {
    guard let context else { return }
    guard !context.isInvalidated else { throw ItemFailure(errSecAuthFailed, .invalidatedContext) }
    if context.forbidsInteraction, interaction == .allowed { interaction = .forbidden }
    reason = context.reason ?? reason
  }
}

/// How a call may ask the person.
package struct Authentication: Sendable {
  /// The behaviour when the person would have to be asked.
  package enum Interaction: Sendable {
    /// Ask.
    case allowed
    /// Fail with `errSecInteractionNotAllowed`.
    case forbidden
    /// Leave the item out.
    case skipped
  }

  /// The behaviour.
  package var interaction = Interaction.allowed
  /// The text for the person; nil without one.
  package var reason: String?
  /// The program's context.
  package var context: (any AuthenticationContext)?

  /// Takes the value of one of the `kSecUse…` keys.
  ///
  /// - Returns: Whether there is such a key.
  /// - Throws: `errSecParam` for a value that it does not take.
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
      // If both keys are given, the newer one counts: it can also say that items are left out.
      if try Bool(term: value), interaction == .allowed { interaction = .forbidden }
    case "u_OpPrompt":
      guard let text = value as? String else { throw .parameter }
      reason = text
    default: return false
    }
    return true
  }

  /// Applies what the context says.
  ///
  /// - Throws: `errSecAuthFailed` for an invalidated context.
  mutating func settle() throws(ItemFailure) {
    guard let context else { return }
    guard !context.isInvalidated else { throw ItemFailure(errSecAuthFailed, .invalidatedContext) }
    if context.forbidsInteraction, interaction == .allowed { interaction = .forbidden }
    reason = context.reason ?? reason
  }
}

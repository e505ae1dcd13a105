import LatchkeyControl
import LatchkeyKeybag

/// One step of a prompt, which a PAM stack decides. A prompt succeeds only if every step is accepted, one after the other.
public struct PromptStep: Equatable, Sendable {
  /// A PAM service.
  public enum Service: String, Sendable {
    /// The login password, and with it the vault's keys.
    case unlock = "latchkey-unlock"
    /// The passphrase of a collection or a backup.
    case collection = "latchkey-collection"
    /// The person's identity: the login password, or another proof that the administrator chose.
    case presence = "latchkey-presence"
    /// A finger.
    case biometry = "latchkey-biometry"
    /// The passphrase of an item.
    case item = "latchkey-item"
  }

  /// The services that can perform the step, in the order in which they are tried. If one service cannot ask anybody, the next one
  /// is tried.
  public let services: [Service]

  /// The steps of a prompt, in order.
  public static func steps(of request: PromptRequest) -> [PromptStep] {
    switch request.purpose {
    case .loginAdvice: return []
    case .login, .newVault: return [PromptStep(services: [.unlock])]
    case .collection, .newPassphrase: return [PromptStep(services: [.collection])]
    case .newItemPassphrase: return [PromptStep(services: [.item])]
    case .item, .itemAccess:
      let control = request.access
      // A finger comes before the password, because it is less effort. Presence and passcode use the same stack.
      var services: [Service] = []
      if !control.conditions.isDisjoint(with: [.biometryAny, .biometryCurrentSet]) { services.append(.biometry) }
      if !control.conditions.isDisjoint(with: [.userPresence, .devicePasscode]) { services.append(.presence) }
      var steps: [PromptStep]
      switch control.combination {
      case .any: steps = services.isEmpty ? [] : [PromptStep(services: services)]
      case .all: steps = services.map { PromptStep(services: [$0]) }
      }
      if control.needsPassphrase { steps.append(PromptStep(services: [.item])) }
      return steps
    }
  }
}

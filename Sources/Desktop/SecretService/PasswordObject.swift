import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// The interface of gnome-keyring's by which Seahorse has the password of a collection changed, at the service's path.
/// Latchkey takes no password over the bus, so of its four methods one works.
extension SecretService {
  static let passwordName = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"

  var passwordInterface: ObjectInterface {
    ObjectInterface(
      Self.passwordName,
      methods: [
        .init(
          "ChangeWithMasterPassword",
          input: [.init("o", "collection"), .init("(oayays)", "original"), .init("(oayays)", "master")],
          flags: .sensitive, handler: { _ throws(BusError) in throw Self.takesNoPassword }),
        .init(
          "ChangeWithPrompt", input: [.init("o", "collection")], output: [.init("o", "prompt")],
          handler: changeWithPrompt),
        .init(
          "CreateWithMasterPassword", input: [.init("a{sv}", "attributes"), .init("(oayays)", "master")],
          output: [.init("o", "collection")], flags: .sensitive,
          handler: { _ throws(BusError) in throw Self.takesNoPassword }),
        .init(
          "UnlockWithMasterPassword", input: [.init("o", "collection"), .init("(oayays)", "master")],
          flags: .sensitive, handler: { _ throws(BusError) in throw Self.takesNoPassword }),
      ])
  }

  private static let takesNoPassword = BusError.notSupported(
    "Latchkey takes no password from programs: it asks you itself. Use Unlock, or 'latchkey passphrase'")

  private func changeWithPrompt(_ call: MethodCall) throws(BusError) {
    if !vault.hasDatabase { delegate.lookAgain() }
    guard case .vault(let id) = try tree.collection(at: try call.message.readObjectPath()) else {
      throw .notSupported("the session collection is in memory only, and has no password")
    }
    guard id != portalCollection else { throw .notSupported(Self.portalTakesNoPassphrase) }
    if id != Vault.firstCollection {
      do throws(VaultError) { try vault.checkPassphraseMayChange(ofCollection: id) } catch {
        // What is locked is opened by the prompt.
        guard error == .isLocked else { throw BusError(error) }
      }
    }
    let prompt = makePrompt(for: call.sender) { _ in .password(id) }
    call.reply { (out: inout MessageWriter) throws(BusError) in try out.appendObjectPath(prompt.path) }
  }

  /// What a person is asked next before a collection has another passphrase; of the login's, what they are told.
  func question(toChangePasswordOf id: Int64, for prompt: Prompt) -> (question: Question, lifting: Set<Int64>)? {
    if id == Vault.firstCollection { return (.loginAdvice(client: prompt.owner), []) }
    // Aliases could not be read before, where the vault was locked.
    if id == portalCollection { return nil }
    return switch try? vault.state(of: id) {
    case .sealed, .locked: (.login, [])
    case .lockedExplicitly: (.login, [id])
    case .needsPassphrase: (.collection(id), [])
    case .unlocked: (.newPassphrase(id), [])
    case nil: nil
    }
  }

  /// Whether a prompt gave its collection another passphrase.
  func hasChangedPassword(of id: Int64, _ prompt: Prompt) -> Bool {
    prompt.asked.contains(.newPassphrase(id)) && prompt.lastEnd == .granted
  }
}

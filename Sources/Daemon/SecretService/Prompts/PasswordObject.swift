import LatchkeySystemd
import LatchkeyVault

/// gnome-keyring's interface by which Seahorse changes the password of a collection, at the service's path. Latchkey accepts no
/// password over the bus, so only one of the interface's four methods works.
final class PasswordObject {
  private static let name = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"

  private let tree: CollectionTree
  private let locks: LockStates
  private let prompts: PromptTable

  init(_ tree: CollectionTree, locks: LockStates, prompts: PromptTable) {
    self.tree = tree
    self.locks = locks
    self.prompts = prompts
  }

  var interface: ObjectInterface {
    ObjectInterface(
      Self.name,
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

  private static let takesNoPassword = BusError.notSupported(.service(.takesNoPassword))

  private func changeWithPrompt(_ call: MethodCall) throws(BusError) {
    let vault = tree.vault
    if !vault.hasDatabase { locks.lookAgain() }
    guard case .vault(let id) = try tree.collection(at: try call.message.readObjectPath()) else {
      throw .notSupported(.service(.sessionHasNoPassword))
    }
    guard id != PortalCollection.id(in: vault) else { throw .notSupported(PortalCollection.takesNoPassphrase) }
    if id != Vault.firstCollection {
      do throws(VaultError) { try vault.collections.checkPassphraseMayChange(of: id) } catch {
        // The prompt unlocks a locked item.
        guard error == .isLocked else { throw BusError(error) }
      }
    }
    let prompt = prompts.make(for: call.sender) { _ in .password(id) }
    call.reply { $0.appendObjectPath(prompt.path) }
  }
}

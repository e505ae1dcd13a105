import Foundation
import LatchkeySecretClient
import LatchkeySecurity

/// The vault's items. If a call fails because something is locked, the failure also has the reason, because
/// `errSecInteractionNotAllowed` alone does not tell it.
struct ExplainedStore: ItemStore {
  private let store: VaultStore

  init(_ store: VaultStore) { self.store = store }

  var accessGroups: AccessGroups { store.accessGroups }

  func add(_ item: NewItem) throws(ItemFailure) -> StoredItem {
    try explained { () throws(ItemFailure) in try store.add(item) }
  }

  func items(matching query: ItemQuery) throws(ItemFailure) -> [StoredItem] {
    try explained { () throws(ItemFailure) in try store.items(matching: query) }
  }

  func update(_ query: ItemQuery, with changes: ItemChanges) throws(ItemFailure) -> Int {
    try explained { () throws(ItemFailure) in try store.update(query, with: changes) }
  }

  func delete(_ query: ItemQuery) throws(ItemFailure) -> Int {
    try explained { () throws(ItemFailure) in try store.delete(query) }
  }

  private func explained<Result>(_ call: () throws(ItemFailure) -> Result) throws(ItemFailure) -> Result {
    do { return try call() } catch {
      guard error.status == errSecInteractionNotAllowed else { throw error }
      throw error.explained(byState: try? store.vaultState(), uid: getuid())
    }
  }
}

extension ItemFailure {
  /// The same failure. If the vault's state is the reason why something is locked, the failure gets it as its cause.
  func explained(byState vaultState: String?, uid: uid_t) -> ItemFailure {
    let found = FailureCause(vaultState: vaultState, uid: uid)
    // A vault that does not exist yet also counts as sealed.
    if cause == .noVaultYet, found == .sealed { return self }
    // If the vault restarted during a prompt, it is sealed, although somebody had unlocked it before.
    if cause == .withdrawnPrompt, vaultState == "sealed" { return self }
    return ItemFailure(status, found ?? cause)
  }
}

extension FailureCause {
  /// The reason why something is locked in a state of the vault; nil if the state is not the cause.
  init?(vaultState: String?, uid: uid_t) {
    switch vaultState {
    case "sealed": self = uid < FailureCause.firstPersonUID ? .systemAccount : .sealed
    case "locked": self = .locked
    default: return nil
    }
  }

  /// The lowest user number of a person's account. latchkey-derive reads the same setting when it decides who gets a vault.
  private static var firstPersonUID: uid_t {
    let file = (try? String(contentsOfFile: "/etc/login.defs", encoding: .utf8)) ?? ""
    for line in file.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" }
      if words.count >= 2, words[0] == "UID_MIN", let number = uid_t(words[1]) { return number }
    }
    return 1000
  }
}

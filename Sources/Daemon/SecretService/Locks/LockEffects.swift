import LatchkeyPrompts
import LatchkeyVault

/// Ends grants and waiting requests at a lock, whether it erases keys or not. Neither outlives a lock.
final class LockEffects {
  private let vault: Vault
  private let waits: PendingWrites
  private let prompts: PromptTable
  private let grants: AccessGrants
  private let queue: PromptQueue

  init(_ vault: Vault, waits: PendingWrites, prompts: PromptTable, grants: AccessGrants, queue: PromptQueue) {
    self.vault = vault
    self.waits = waits
    self.prompts = prompts
    self.grants = grants
    self.queue = queue
  }

  /// - Parameter collection: the collection with a new explicit lock; nil for all.
  func locked(collection: Int64? = nil) {
    waits.drop()
    // Before prompts end, because clients' passphrases are worthless behind the locked screen.
    prompts.forgetGiven(of: collection)
    let isLocked = { [vault] (item: Int64) in
      collection == nil || (try? vault.reader.collection(ofItem: item)) == collection
    }
    grants.removeAll(where: isLocked)
    prompts.endWaiting(of: collection)
    queue.locked(where: isLocked)
  }

  /// Ends grants and waiting requests at the lock of one item.
  func locked(item: Int64) {
    grants.forget(item: item)
    prompts.endWaiting(forItem: item)
    queue.locked { $0 == item }
  }
}

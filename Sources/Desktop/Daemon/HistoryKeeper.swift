import Glibc
import LatchkeyClassRules
import LatchkeySystemd
import LatchkeyVault

/// Keeps the generations of the vault, as the user's settings say; and what the journal hears of it.
final class HistoryKeeper {
  private let vault: Vault
  /// Where the settings are.
  let path: String
  private let owner: uid_t
  /// The problem with the settings, for a person.
  private(set) var problem: String?
  /// Called after each piece of work.
  var worked: ((_ hasMore: Bool) -> Void)?
  /// The problems that are in the journal already.
  private var told: Set<String> = []

  init(_ vault: Vault, home: String, owner: uid_t) {
    self.vault = vault
    self.owner = owner
    path = HistorySettings.path(home: home)
    readSettings()
  }

  private func readSettings() {
    do throws(RulesError) {
      vault.history.policy = try HistorySettings.load(path, owner: owner)
      problem = nil
    } catch {
      // Those from before hold: a mistake in the file is to cost no generation.
      problem = "\(error). Until you correct the file, the former settings stay in force."
    }
    tell(problem)
  }

  /// Whether ``work()`` has anything to do. Reads the settings, which may have changed.
  var hasWork: Bool {
    readSettings()
    return vault.hasHistoryWork
  }

  /// One small piece.
  ///
  /// - Returns: whether there is more.
  func work() -> Bool {
    // Goes on with the work that was begun. New work waits until the vault is quiet.
    let hasMore = vault.hasHistoryWork && vault.keepHistory()
    tell(vault.history.problem.map { "no generation of the vault was made: \($0)" })
    worked?(hasMore)
    return hasMore
  }

  private func tell(_ problem: String?) {
    if let problem, told.insert(problem).inserted { Journal.log(.warning, problem) }
  }
}

import Glibc
import LatchkeyClassRules
import LatchkeyReasons
import LatchkeySystemd
import LatchkeyVault

/// Keeps the generations of the vault as the user's settings say, and reports problems to the journal.
final class HistoryKeeper {
  private let vault: Vault
  /// The file with the settings.
  let path: String
  private let owner: uid_t
  /// The problem with the settings.
  private(set) var problem: Reason?
  /// Called after each piece of work.
  var worked: ((_ hasMore: Bool) -> Void)?
  /// The problems that are in the journal already.
  private var told: Set<Reason> = []

  init(_ vault: Vault, home: String, owner: uid_t) {
    self.vault = vault
    self.owner = owner
    path = HistorySettings.path(home: home)
    readSettings()
  }

  /// Reads the settings, which may have changed.
  func readSettings() {
    do throws(RulesError) {
      vault.history.policy = try HistorySettings.load(path, owner: owner)
      problem = nil
    } catch {
      // The former settings stay in force, because a mistake in the file must not cost a generation.
      problem = .settingsStay(error.reason)
    }
    tell(problem)
  }

  /// Whether ``work()`` has anything to do, according to the present settings.
  var hasWork: Bool {
    readSettings()
    return vault.hasHistoryWork
  }

  /// Does one small piece of work.
  ///
  /// - Returns: whether there is more.
  func work() -> Bool {
    // Continues work that was begun. New work waits until the vault is quiet.
    let hasMore = vault.hasHistoryWork && vault.keepHistory()
    tell(vault.history.problem.map { .because(.vault(.noGenerationMade), $0) })
    worked?(hasMore)
    return hasMore
  }

  private func tell(_ problem: Reason?) {
    if let problem, told.insert(problem).inserted { Journal.log(.warning, problem.text) }
  }
}

@testable import LatchkeyVault

extension Vault {
  /// Walks through all generations in every way, and does all background work.
  ///
  /// - Returns: a walk that took more steps than any small file needs, and so is endless.
  func endlessWalk() -> String? {
    var endless: String?
    func toEnd(_ what: String, _ step: () throws -> Bool) {
      for _ in 0..<400 { if (try? step()) != true { return } }
      endless = what
    }
    for one in history.generations {
      if let comparison = try? HistoryComparison(self, with: one.number) {
        toEnd("a comparison") { try comparison.step() }
      }
      let restore = try? HistoryRestore(self, from: one.number, .everything, replacing: true, isDry: false)
      if let restore {
        toEnd("a restore") { try restore.step() }
        _ = try? restore.finish()
      }
    }
    if let search = try? HistorySearch(self, .attributes(["n": "1"]), present: []) {
      toEnd("a search") { try search.step() }
    }
    let uuid = [UInt8](repeating: 9, count: 16)
    if let forgetting = try? history.forgetEverywhere([uuid]) { toEnd("a removal") { try forgetting.step() } }
    _ = try? history.entries()
    // A newly started daemon checks this by itself.
    if let store = try? database.ready() {
      let forgetting = HistoryForgetting(history, vault: store.vault, items: [], weakerThan: store)
      toEnd("a look at protections") { try forgetting.work() }
    }
    passHours(2)
    toEnd("the work beside requests") { hasHistoryWork && keepHistory() }
    return endless
  }

  /// Advances the clock.
  func passHours(_ hours: Int) {
    let before = history.clock
    history.clock = {
      let now = before()
      return (now.time + UInt64(hours) * 3600, now.uptime + hours * 3_600_000)
    }
  }
}

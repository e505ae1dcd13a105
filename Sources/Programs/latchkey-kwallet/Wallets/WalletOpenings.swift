import LatchkeySystemd

/// The wallets that are being opened. A locked wallet waits for the person without a time limit. All programs that want the same
/// wallet wait for the same prompt.
final class WalletOpenings {
  /// One program that wants a wallet.
  struct Request {
    /// The name that the program gave itself.
    let program: ExactName
    /// The client's connection to the bus.
    let connection: String
    /// Whether the client's use of the wallet ends with the connection.
    let endsWithConnection: Bool
    /// The client's window; empty without a window.
    let window: String
    /// Called with whether the wallet is open, and whether it was created for this request.
    let answer: (_ isOpen: Bool, _ isNew: Bool) -> Void
  }

  private struct Opening {
    var requests: [Request]
    /// The prompt for the person.
    var prompt: UInt64?
    /// Whether the wallet is being created.
    var isNew = false
    /// How many prompts the person has had, and how many daemons have ended meanwhile.
    var rounds = 0
  }

  private let store: WalletStore
  private let link: VaultLink
  private let jobs: Jobs
  private let settings: () -> WalletSettings
  private var openings: [ExactName: Opening] = [:]

  /// The number of prompts or ended daemons after which the opening fails.
  private static let roundLimit = 5
  /// The most requests of one connection that may wait at a time.
  private static let waitLimit = 64

  init(_ store: WalletStore, _ link: VaultLink, _ jobs: Jobs, settings: @escaping () -> WalletSettings) {
    (self.store, self.link, self.jobs, self.settings) = (store, link, jobs, settings)
  }

  /// Whether a connection waits for a wallet.
  func isAwaited(by connection: String) -> Bool {
    openings.values.contains { $0.requests.contains { $0.connection == connection } }
  }

  /// Opens a wallet. The answer may come at once, or after the person has answered a prompt.
  func open(_ wallet: ExactName, _ request: Request) {
    let waiting = openings.values.reduce(0) { sum, opening in
      sum + opening.requests.count { $0.connection == request.connection }
    }
    guard waiting < Self.waitLimit else { return request.answer(false, false) }
    if openings[wallet] != nil {
      openings[wallet]?.requests.append(request)
      return
    }
    openings[wallet] = Opening(requests: [request])
    advance(wallet)
  }

  /// Called when a connection has ended. If no other connection waits for the same wallet, the wallet's prompt ends.
  func leave(_ connection: String) {
    for wallet in openings.keys {
      openings[wallet]?.requests.removeAll { $0.connection == connection }
      guard let opening = openings[wallet], opening.requests.isEmpty else { continue }
      openings[wallet] = nil
      if let prompt = opening.prompt { link.withdraw(prompt) }
    }
  }

  /// Refuses all wallets that programs still wait for.
  func refuseAll() {
    for wallet in openings.keys {
      if let prompt = openings[wallet]?.prompt { link.withdraw(prompt) }
      finish(wallet, isOpen: false)
    }
  }

  private func advance(_ wallet: ExactName) {
    guard let opening = openings[wallet] else { return }
    guard opening.rounds < Self.roundLimit else { return finish(wallet, isOpen: false) }
    openings[wallet]?.rounds += 1
    do throws(BusError) {
      let step: WalletStore.Step
      switch try store.find(wallet, standard: ExactName(settings().networkWallet)) {
      case .open: return finish(wallet, isOpen: true)
      case .locked(let path): step = try store.unlock(path)
      case .missing:
        openings[wallet]?.isNew = true
        step = try store.create(wallet)
      }
      switch step {
      case .done: advance(wallet)
      case .prompt(let path): try ask(wallet, path)
      }
    } catch {
      Journal.log(.warning, "a wallet was not opened: \(error)")
      finish(wallet, isOpen: false)
    }
  }

  private func ask(_ wallet: ExactName, _ path: String) throws(BusError) {
    let first = openings[wallet]?.requests.first
    let prompt = try link.perform(path, reason: first?.program.text ?? "", window: first?.window ?? "") {
      [weak self] ending in
      guard let self, openings[wallet] != nil else { return }
      openings[wallet]?.prompt = nil
      switch ending {
      case .accepted, .vaultGone: advance(wallet)
      case .dismissed: finish(wallet, isOpen: false)
      }
    }
    openings[wallet]?.prompt = prompt
  }

  private func finish(_ wallet: ExactName, isOpen: Bool) {
    guard let opening = openings.removeValue(forKey: wallet) else { return }
    for (place, request) in opening.requests.enumerated() {
      request.answer(isOpen, isOpen && opening.isNew && place == 0)
    }
  }
}

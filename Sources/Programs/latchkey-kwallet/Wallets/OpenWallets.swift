/// The wallets that programs have open. An open wallet has one handle, and counts how often each program opened it.
struct OpenWallets {
  /// A program's use of a wallet, by the name that the program gave itself.
  private struct Use {
    /// How often the program opened the wallet on each bus connection. The empty name counts uses that outlive their connection.
    var counts: [String: Int] = [:]
  }

  private struct Wallet {
    let name: ExactName
    var uses: [ExactName: Use] = [:]
  }

  private var wallets: [Int32: Wallet] = [:]

  /// The most programs that may have a wallet open on one connection. The same limit holds for uses that outlive their connection.
  private static let programLimit = 256

  /// How a wallet was closed.
  enum Closing {
    case closed
    /// Programs still use the wallet, or the settings keep it open.
    case stays
    case notOpen
  }

  var isEmpty: Bool { wallets.isEmpty }
  var handles: [Int32] { wallets.keys.sorted() }

  var names: [ExactName] { wallets.values.map(\.name) }

  func handle(of name: ExactName) -> Int32? { wallets.first { $0.value.name == name }?.key }

  func contains(_ handle: Int32) -> Bool { wallets[handle] != nil }

  func name(of handle: Int32) -> ExactName? { wallets[handle]?.name }

  /// The wallet of a handle; nil if the program has not opened it.
  func name(of handle: Int32, for program: ExactName) -> ExactName? {
    guard let wallet = wallets[handle], wallet.uses[program] != nil else { return nil }
    return wallet.name
  }

  /// The programs that use a wallet.
  func programs(of handle: Int32) -> [ExactName] { (wallets[handle]?.uses.keys).map { $0.sorted() } ?? [] }

  /// Whether a use of a wallet will end with this connection.
  func isUsed(by connection: String) -> Bool {
    wallets.values.contains { $0.uses.values.contains { $0.counts[connection] != nil } }
  }

  /// Opens a wallet for a program.
  ///
  /// - Parameter connection: the connection that ends this use; empty if the use stays.
  /// - Returns: nil if too many programs have the wallet open. There is a limit because a program chooses its own name, and may
  ///   give another name at each call.
  mutating func open(
    _ name: ExactName, for program: ExactName, on connection: String
  ) -> (handle: Int32, isNew: Bool)? {
    let known = handle(of: name)
    if let uses = known.flatMap({ wallets[$0]?.uses }), uses[program]?.counts[connection] == nil,
      uses.values.count(where: { $0.counts[connection] != nil }) >= Self.programLimit
    {
      return nil
    }
    let handle = known ?? newHandle()
    wallets[handle, default: Wallet(name: name)].uses[program, default: Use()].counts[connection, default: 0] += 1
    return (handle, known == nil)
  }

  /// A new random handle. A handle from an earlier run of this program opens nothing.
  private func newHandle() -> Int32 {
    while true {
      let handle = Int32.random(in: 1...Int32.max)
      if wallets[handle] == nil { return handle }
    }
  }

  /// Ends one use of a wallet by a program. It first ends a use of this connection, and otherwise a use that outlives its
  /// connection.
  ///
  /// - Returns: false if the program does not use the wallet.
  mutating func endUse(of handle: Int32, by program: ExactName, on connection: String) -> Bool {
    guard wallets[handle]?.uses[program] != nil else { return false }
    for key in [connection, ""] {
      guard let count = wallets[handle]?.uses[program]?.counts[key] else { continue }
      wallets[handle]?.uses[program]?.counts[key] = count > 1 ? count - 1 : nil
      break
    }
    if wallets[handle]?.uses[program]?.counts.isEmpty == true { wallets[handle]?.uses[program] = nil }
    return true
  }

  /// Ends all uses of a wallet by a program.
  mutating func endUses(of handle: Int32, by program: ExactName) -> Bool {
    wallets[handle]?.uses.removeValue(forKey: program) != nil
  }

  /// Ends the uses of a connection that has ended.
  ///
  /// - Returns: the wallets that the connection used.
  mutating func endUses(on connection: String) -> [Int32] {
    var used: [Int32] = []
    for (handle, wallet) in wallets {
      for (program, use) in wallet.uses where use.counts[connection] != nil {
        wallets[handle]?.uses[program]?.counts[connection] = nil
        if wallets[handle]?.uses[program]?.counts.isEmpty == true { wallets[handle]?.uses[program] = nil }
        used.append(handle)
      }
    }
    return used
  }

  /// Closes a wallet if `force` is set, or if no program uses it and the settings do not keep it open.
  mutating func close(_ handle: Int32, force: Bool, leavesOpen: Bool) -> Closing {
    guard let wallet = wallets[handle] else { return .notOpen }
    guard force || (wallet.uses.isEmpty && !leavesOpen) else { return .stays }
    wallets[handle] = nil
    return .closed
  }
}

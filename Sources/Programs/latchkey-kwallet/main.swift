// latchkey-kwallet: KWallet's interface in front of the vault.
//
// KDE's programs call `org.kde.KWallet`. This program answers instead of KWallet. It turns each
// call into calls to the vault, as any client makes them. The bus starts it when a program first
// calls KWallet. `KWalletService` has the methods, `WalletStore` the layout of wallets in the
// vault, and `VaultLink` the connection.
//
//     wallet -> collection        entry -> item with the schema org.qt.keychain
//
// KDE's own proxy to the Secret Service has the same layout, so a later version of KDE finds the
// entries too. `OpenWallets` counts who opened which wallet, `WalletOpenings` has the programs that
// wait for a prompt, and `Jobs` keeps calls to the vault out of a bus's handlers. `WalletSettings`
// reads the settings of kwalletrc that this program obeys.
//
// The program promises that all data are in the vault: it has no key of its own, and no file but a
// mark that the notice was shown. An entry keeps its exact bytes, whatever its type is. When a
// program ends, its wallets close. A call that needs the person waits for the vault's own prompt,
// and programs that want the same wallet wait for the same prompt.
//
// It does not itself ask the person anything. Like KWallet, it does not separate the programs of
// one user. It keeps none of KWallet's access lists. It does not read KWallet's files. `latchkey
// import kwallet` reads them, and `FormerWalletsNotice` says so once.

import Glibc
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// The reason why this program cannot serve.
private enum ServingFailure: Error, CustomStringConvertible {
  case namesTaken

  var description: String {
    "KWallet itself runs, and owns org.kde.kwalletd5 and org.kde.kwalletd6. End it, and latchkey-kwallet takes over"
  }
}

/// The program's names on the bus.
private final class Presence {
  private var waiting = 0
  private(set) var owned = 0
  private(set) var isLost = false
  /// Whether the bus has answered for both names.
  var isKnown: Bool { waiting == 0 }

  /// Requests both names. If kwalletd owns a name, this program gets the name when kwalletd ends.
  func claim(_ names: [String], on bus: Bus) throws {
    try bus.onDisconnect { [unowned self] in isLost = true }
    for name in names {
      waiting += 1
      try bus.requestNameAsync(name, queueing: true) { [unowned self] answer in
        waiting -= 1
        switch answer {
        case .success(.owned), .success(.alreadyOwned): owned += 1
        default: Journal.log(.warning, "another program owns \(name)")
        }
      }
    }
  }
}

private func serve() throws -> Int32 {
  try Process.forbidInspection()
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  try Sodium.initialize()
  try Gcrypt.initialize()
  Sodium.eraseWhenEnded(and: Gcrypt.eraseAll)
  Language.begin()
  let loop = try EventLoop()
  var isEnding = false
  let signals = try [SIGTERM, SIGINT, SIGHUP].map { try loop.addSignal($0) { isEnding = true } }
  let jobs = Jobs()
  let bus = try Bus(.session, loop: loop)
  let presence = Presence()
  let service = try KWalletService(bus: bus, loop: loop, jobs: jobs)
  try presence.claim(KWalletService.names, on: bus)
  var isReady = false
  return try withExtendedLifetime((signals, service)) {
    while !isEnding && !presence.isLost {
      try loop.runOnce()
      repeat { service.link.drain() } while jobs.run()
      guard !isReady, presence.isKnown else { continue }
      guard presence.owned > 0 else { throw ServingFailure.namesTaken }
      isReady = true
      ServiceManager.notify("READY=1")
    }
    return 0
  }
}

ProgramStart.run("latchkey-kwallet", usage: Options.usage) {
  try Options.check(CommandLine.arguments)
  return try serve()
}

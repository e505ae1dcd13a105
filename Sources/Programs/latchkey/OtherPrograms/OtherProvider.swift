import ArgumentParser
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// Another program that keeps secrets and runs, on this bus or another.
struct OtherProvider: ParsableArguments {
  @Option(help: ArgumentHelp(translated("The other program's bus. By default your session bus."), valueName: "address"))
  var bus: String?
  @Option(help: ArgumentHelp(translated("The name that the other program has on the bus."), valueName: "name"))
  var owner = ServiceConnection.name

  /// Refuses Latchkey itself as the other program.
  ///
  /// - Parameter consequence: the consequence, for a person.
  func check(_ other: VaultConnection, isNot vault: VaultConnection, so consequence: String) throws {
    guard other.ownerProcess != vault.ownerProcess else {
      throw Failure.declined(
        translated(
          """
          the program that keeps the secrets there is Latchkey itself, so \(consequence).
          Name the other program with --owner, for example --owner org.gnome.keyring.
          """))
    }
  }

  /// Connects to the provider.
  func connect(_ place: DaemonPlace) throws -> VaultConnection {
    let other: VaultConnection
    do throws(ConnectionFailure) {
      other = try VaultConnection(provider: owner, on: bus.map(Bus.Address.address) ?? .session, place)
    } catch {
      switch error {
      case .noBus:
        throw Failure.noService(translated("there is no bus at that address. Is it right, and does the bus run?"))
      case .notRunning:
        throw Failure.noService(
          translated(
            "no program has the name \(owner) on that bus, and none could be started. Start the other program, then run this again."
          )
        )
      case .stranger:
        throw Failure.noService(
          translated("the program that has the name \(owner) belongs to another user, so nothing was sent to it."))
      case .otherService: throw keepsNone
      case .broken(let error): throw error
      }
    }
    try checkOffers(other)
    return other
  }

  /// Refuses a program that offers no secrets, such as a gnome-keyring that runs only for its other parts.
  private func checkOffers(_ other: VaultConnection) throws {
    do throws(BusError) {
      try other.properties(of: VaultConnection.root, VaultConnection.service) { (_, entry) throws(BusError) in
        try entry.skip()
      }
    } catch {
      guard error.isNoSuchObject || error.isStandard("UnknownMethod") else { throw error }
      guard let process = other.ownerProcess, let name = RunningProcess(process, in: SystemRoot())?.name,
        let provider = Provider.of(process: name), provider.id == "gnome-keyring"
      else { throw keepsNone }
      throw Failure.noService(
        translated(
          """
          \(provider.title) (process \(process)) runs without its component for secrets.
          Stop it, and start it as 'Going back' in latchkey-switch(1) says. Then run this again.
          """))
    }
  }

  private var keepsNone: Failure {
    .noService(translated("the program that has the name \(owner) keeps no secrets."))
  }
}

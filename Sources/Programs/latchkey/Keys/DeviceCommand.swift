import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// `latchkey device`
struct DeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: translated("Show, move or erase the key that binds secrets to this machine."),
    discussion: translated(
      """
      The machine's device key service keeps this key, in the TPM or in a file that only root reads. The service \
      serves every user's vault. None of these commands needs a running vault.
      """),
    subcommands: [DeviceShowCommand.self, DeviceMoveCommand.self, DeviceEraseCommand.self, DeviceForgetCommand.self],
    defaultSubcommand: DeviceShowCommand.self)
}

/// The socket of the service.
struct DevicePlace: ParsableArguments {
  @Option(help: ArgumentHelp(translated("Where the device key service listens."), valueName: "path"))
  var socket = ServiceDeviceKey.path

  /// The time limit of a command, in milliseconds. It is long, because a TPM is slow.
  static let timeout = 40_000

  func run(_ command: ServiceDeviceKey.Command) throws {
    try telling { () throws(DeviceKeyError) in
      try ServiceDeviceKey.run(command, at: socket, timeout: DevicePlace.timeout)
    }
  }

  /// Runs a command that erases data of a user, and says so if the service has no data of that user.
  func run(_ command: ServiceDeviceKey.Command, of user: UInt32) throws {
    let isKnown = try telling { () throws(DeviceKeyError) in
      do throws(DeviceKeyError) {
        try ServiceDeviceKey.run(command, at: socket, timeout: DevicePlace.timeout)
        return true
      } catch {
        guard case .otherDevice = error else { throw error }
        return false
      }
    }
    if !isKnown { print(translated("The device key service has nothing of user \(user) to erase.")) }
  }

  func telling<Result>(_ body: () throws(DeviceKeyError) -> Result) throws -> Result {
    try Failure.telling {
      guard (try? Sodium.initialize()) != nil else {
        throw Failure.deviceService(translated("the system returned no random bytes"))
      }
      do throws(DeviceKeyError) { return try body() } catch {
        switch error {
        case .unavailable(let reason): throw Failure.deviceService(reason.told)
        case .otherDevice: throw Failure.deviceService(translated("it does not know this key"))
        }
      }
    }
  }
}

/// `latchkey device show`
struct DeviceShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: translated("Print where the device key is: tpm, or host for a file that only root reads."))

  @OptionGroup var place: DevicePlace

  func run() throws {
    let found = try place.telling { () throws(DeviceKeyError) in try ServiceDeviceKey.find(at: place.socket) }
    guard let found else { Failure.deviceService(translated("no service listens at \(place.socket)")).end() }
    print(found.backend.rawValue)
  }
}

/// `latchkey device move`
struct DeviceMoveCommand: ParsableCommand {
  enum Target: String, ExpressibleByArgument, CaseIterable {
    case tpm
    case host
  }

  static let configuration = CommandConfiguration(
    commandName: "move", abstract: translated("Move the device key (root only)."),
    discussion: translated(
      "The key stays the same, so nothing in the vaults changes. Move it to the host before you clear or replace the TPM."
    )
  )

  @OptionGroup var place: DevicePlace
  @Argument(help: .translated("tpm or host."))
  var target: Target

  func run() throws { try place.run(.move(target == .tpm ? .tpm : .host)) }
}

/// `latchkey device erase`
struct DeviceEraseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase", abstract: translated("Destroy your when-passcode-set-this-device-only secrets, for good."),
    discussion: translated("No copy of the vault and no password brings them back."))

  @OptionGroup var place: DevicePlace
  @OptionGroup var vault: DaemonPlace
  @Option(
    help: ArgumentHelp(translated("Destroy the items of another user, given by number (root only)."), valueName: "uid"))
  var user: UInt32?
  @Flag(help: .translated("Confirm that you want this. Nothing is done without this option."))
  var yes = false

  func validate() throws {
    guard yes else {
      throw ValidationError(translated("Nothing was erased. To erase the items, run the command again with --yes."))
    }
  }

  func run() throws {
    // The user's own vault, if it runs, drops the items at once.
    guard user == nil, place.socket == ServiceDeviceKey.path, let daemon = try? vault.connect() else {
      return try place.run(.eraseErasable(user ?? geteuid()), of: user ?? geteuid())
    }
    try Failure.telling {
      let end = LatchkeyPosix.Process.now + DevicePlace.timeout
      do {
        _ = try daemon.ask(DestroyPasscodeItems(passwordRemoved: false), until: end)
      } catch ControlError.declined(let why) {
        throw Failure.declined(why.told + ".")
      }
    }
  }
}

/// `latchkey device forget`
struct DeviceForgetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: translated("Erase everything that the service keeps for a user (root only)."),
    discussion: translated(
      "Use it for an account that no longer exists: all that its vault bound to this machine is lost."))

  @OptionGroup var place: DevicePlace
  @Argument(help: ArgumentHelp(translated("The user's number."), valueName: "uid"))
  var user: UInt32
  @Flag(help: .translated("Confirm that you want this. Nothing is done without this option."))
  var yes = false

  func validate() throws {
    guard yes else {
      throw ValidationError(translated("Nothing was erased. To erase the items, run the command again with --yes."))
    }
  }

  func run() throws { try place.run(.forget(user), of: user) }
}

import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// `latchkey device`
struct DeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "See to the key that binds secrets to this machine.",
    discussion: """
      The machine's device key service keeps it, in the TPM or in a file that only root reads. It serves every user's \
      vault; none of these commands needs a running one.
      """,
    subcommands: [DeviceShowCommand.self, DeviceMoveCommand.self, DeviceEraseCommand.self, DeviceForgetCommand.self],
    defaultSubcommand: DeviceShowCommand.self)
}

/// Where the service is.
struct DevicePlace: ParsableArguments {
  @Option(help: ArgumentHelp("Where the device key service listens.", valueName: "path"))
  var socket = ServiceDeviceKey.path

  /// How long a command may take, in milliseconds: a TPM is slow.
  static let timeout = 40_000

  func run(_ command: ServiceDeviceKey.Command) throws {
    try telling { () throws(DeviceKeyError) in
      try ServiceDeviceKey.run(command, at: socket, timeout: DevicePlace.timeout)
    }
  }

  func telling<Result>(_ body: () throws(DeviceKeyError) -> Result) throws -> Result {
    try Failure.telling {
      guard (try? Sodium.initialize()) != nil else { throw Failure.deviceService("there is no randomness") }
      do throws(DeviceKeyError) { return try body() } catch {
        switch error {
        case .unavailable(let text): throw Failure.deviceService(text)
        case .otherDevice: throw Failure.deviceService("it does not know that")
        }
      }
    }
  }
}

/// `latchkey device show`
struct DeviceShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Say where the device key is kept: tpm or host.")

  @OptionGroup var place: DevicePlace

  func run() throws {
    let found = try place.telling { () throws(DeviceKeyError) in try ServiceDeviceKey.find(at: place.socket) }
    guard let found else { Failure.deviceService("nobody listens at \(place.socket)").end() }
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
    commandName: "move", abstract: "Keep the device key elsewhere (root only).",
    discussion: "It stays the same key: all vaults go on. Move it to the host before the TPM is cleared or changed.")

  @OptionGroup var place: DevicePlace
  @Argument(help: "tpm or host.")
  var target: Target

  func run() throws { try place.run(.move(target == .tpm ? .tpm : .host)) }
}

/// `latchkey device erase`
struct DeviceEraseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase", abstract: "Destroy your when-passcode-set-this-device-only secrets, for good.",
    discussion: "What they hang on is erased; no copy of the vault, and no password, brings them back.")

  @OptionGroup var place: DevicePlace
  @OptionGroup var vault: Place
  @Option(help: ArgumentHelp("Another user's, by number (root only).", valueName: "uid"))
  var user: UInt32?
  @Flag(help: "Really do it.")
  var yes = false

  func validate() throws {
    guard yes else { throw ValidationError("Nothing was erased: say --yes if you mean it.") }
  }

  func run() throws {
    // The user's own vault, where it is at work, lets go of them at once.
    guard user == nil, place.socket == ServiceDeviceKey.path, let daemon = try? vault.connect() else {
      return try place.run(.eraseErasable(user ?? geteuid()))
    }
    try Failure.telling {
      let end = LatchkeyPosix.Process.now + DevicePlace.timeout
      do {
        _ = try daemon.ask(DestroyPasscodeItems(passwordRemoved: false), until: end)
      } catch ControlError.declined(let why) {
        throw Failure.declined(why + ".")
      }
    }
  }
}

/// `latchkey device forget`
struct DeviceForgetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Erase all that the service keeps of a user (root only).",
    discussion: "For an account that is gone: everything that its vault bound to this machine is lost with it.")

  @OptionGroup var place: DevicePlace
  @Argument(help: "The user's number.")
  var user: UInt32
  @Flag(help: "Really do it.")
  var yes = false

  func validate() throws {
    guard yes else { throw ValidationError("Nothing was erased: say --yes if you mean it.") }
  }

  func run() throws { try place.run(.forget(user)) }
}

import Glibc
import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Whether a login in which nobody gave a password may have the session's key from the device key service. This is decided
/// while the process is root, before it reads any file of the user's.
enum SessionAdmission: ~Copyable {
  /// No: a person gave the password, the login has no password, or the administrator did not name the service.
  case none
  /// No: the administrator's list cannot be believed.
  case unbelieved
  /// No: the device key service did not let the login in.
  case unavailable
  /// Yes.
  case granted(LoginConnection)

  /// The time limit for the device key service, in milliseconds. The service may have to be started first.
  private static let timeout = 800

  init(_ request: borrowing DeriveRequest, account: Account, login: LoginPassword) {
    guard request.operation == .openSession, request.token.count == 0, login != .none, account.uid != 0,
      getuid() == 0, geteuid() == 0
    else {
      self = .none
      return
    }
    do throws(AdmittedServices.Unbelieved) {
      let services = try AdmittedServices(path: request.services.isEmpty ? AdmittedServices.path : request.services)
      guard services.contain(request.service) else {
        self = .none
        return
      }
    } catch {
      self = .unbelieved
      return
    }
    do throws(DeviceKeyError) {
      self = .granted(
        try LoginConnection(
          of: account.uid, at: request.device.isEmpty ? ServiceDeviceKey.path : request.device,
          until: Process.now + SessionAdmission.timeout))
    } catch { self = .unavailable }
  }

  /// Whether the device key service must be asked, even if only for the reason of a refusal.
  var mayAsk: Bool {
    switch self {
    case .none: false
    default: true
    }
  }

  /// The key that the device key service unwraps for this login.
  borrowing func unwrap(_ wrapped: [UInt8], context: [UInt8], until deadline: Int) throws -> Key {
    switch self {
    case .granted(let connection): return try connection.unwrap(wrapped, context: context, until: deadline)
    case .unbelieved: throw AdmittedServices.Unbelieved()
    default: throw DeviceKeyError.unavailable(.device(.notAdmitted))
    }
  }
}

import Glibc
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySodium
import LatchkeyTSS

/// Protects the device secret on the disk.
public protocol DeviceSeal: AnyObject {
  /// The seal's kind.
  var backend: DeviceKeyBackend { get }
  /// The secret in the form for the state file.
  func seal(_ secret: borrowing Key) throws(DeviceKeyError) -> SecureBytes
  /// The secret that was given to ``seal(_:)``.
  func open(_ sealed: RawSpan) throws(DeviceKeyError) -> Key
}

/// No seal but the file's mode: only the service's own user reads the file.
public final class HostSeal: DeviceSeal {
  /// Always ``DeviceKeyBackend/host``.
  public let backend = DeviceKeyBackend.host

  /// Needs nothing.
  public init() {}

  /// The secret, unchanged.
  public func seal(_ secret: borrowing Key) throws(DeviceKeyError) -> SecureBytes {
    do { return try SecureBytes(copying: secret.bytes) } catch { throw .unavailable(.device(.noMemory)) }
  }

  /// The secret, unchanged.
  public func open(_ sealed: RawSpan) throws(DeviceKeyError) -> Key {
    guard sealed.byteCount == Key.size else { throw StateFile.device.damaged }
    do { return try Key(copying: sealed) } catch { throw .unavailable(.device(.noMemory)) }
  }
}

/// The machine's TPM 2.0: without that chip and its present seed, the state file is worthless.
public final class TPMSeal: DeviceSeal {
  /// Always ``DeviceKeyBackend/tpm``.
  public let backend = DeviceKeyBackend.tpm
  private let tcti: String
  private let timeout: UInt32

  /// - Parameters:
  ///   - tcti: how tpm2-tss reaches the chip: "device:/dev/tpmrm0".
  ///   - timeout: the wait in seconds. A chip that does not answer would hold up everybody. So the process then ends (SIGALRM), and
  ///     the next request starts a new process.
  public init(tcti: String, timeout: UInt32) {
    self.tcti = tcti
    self.timeout = timeout
  }

  /// Begins the time limit. The event loop's own signals do not come within it, because both use the same timer.
  private func begin() -> sigaction {
    var deadly = sigaction()
    deadly.__sigaction_handler.sa_handler = SIG_DFL
    var before = sigaction()
    alarm(0)
    sigaction(SIGALRM, &deadly, &before)
    alarm(timeout)
    return before
  }

  private func end(_ before: sigaction) {
    var before = before
    alarm(0)
    sigaction(SIGALRM, &before, nil)
  }

  /// Asks the chip within the time limit.
  private func ask<Answer: ~Copyable>(
    _ work: (TPM) throws(TPMError) -> Answer
  ) throws(DeviceKeyError) -> Answer {
    let before = begin()
    defer { end(before) }
    do throws(TPMError) { return try work(TPM(tcti: tcti)) } catch {
      throw .unavailable(.because(.device(.tpmUnusable), Reason(error)))
    }
  }

  /// Seals the secret to the chip.
  public func seal(_ secret: borrowing Key) throws(DeviceKeyError) -> SecureBytes {
    try ask { (tpm) throws(TPMError) in
      let sealed = try tpm.seal(secret)
      do { return try SecureBytes(copying: sealed.span.bytes) } catch { throw .outOfMemory }
    }
  }

  /// Lets the chip unseal the secret.
  public func open(_ sealed: RawSpan) throws(DeviceKeyError) -> Key {
    try ask { (tpm) throws(TPMError) in try tpm.unseal(sealed.octets) }
  }
}

extension TPMSeal: SecretHolder {
  /// Gives the secret to the chip until the machine starts again.
  public func hold(_ secret: borrowing Key) throws(DeviceKeyError) -> [UInt8] {
    try ask { (tpm) throws(TPMError) in try tpm.hold(secret) }
  }

  /// The secret again.
  public func held(_ context: [UInt8]) throws(DeviceKeyError) -> Key {
    try ask { (tpm) throws(TPMError) in try tpm.held(context) }
  }
}

extension Reason {
  fileprivate init(_ error: TPMError) {
    self =
      switch error {
      case .noLibrary: .device(.tpmLibrary)
      case .failed(let step, let code): .tpmFailed(.device(DeviceReason(step)), code: String(code, radix: 16))
      case .otherChip: .device(.tpmOther)
      case .malformed: .device(.tpmDamaged)
      case .outOfMemory: .device(.noMemory)
      }
  }
}

extension DeviceReason {
  fileprivate init(_ step: TPMError.Step) {
    self =
      switch step {
      case .connecting: .tpmConnecting
      case .deriving: .tpmDeriving
      case .session: .tpmSession
      case .encrypting: .tpmEncrypting
      case .sealing: .tpmSealing
      case .writing, .saving: .tpmWriting
      case .loading: .tpmLoading
      case .unsealing: .tpmUnsealing
      }
  }
}

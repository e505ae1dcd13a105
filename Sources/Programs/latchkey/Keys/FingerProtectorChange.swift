import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyDoctor
import LatchkeyGettext

/// Adds and removes the protector `finger`.
struct FingerProtectorChange {
  let place: DaemonPlace
  let asking: RootKeyAsking

  /// The loss of security without a TPM.
  private static let costWithoutTPM = translated(
    """
    Without a TPM the key for that is in the memory of the device key service. Anybody who can read all memory of this machine
    while the screen is locked can then unlock the vault. Every sleep ends it, so your password is needed after that.
    """)

  /// Adds the protector, after the person has confirmed the loss of security.
  func add(isConfirmed: Bool, withoutTPM: Bool) throws {
    try Failure.telling {
      let status = try RootKeyAsking.statusToAdd(at: place)
      guard withoutTPM || status.deviceKey == "tpm" || access("/dev/tpmrm0", F_OK) == 0 else {
        throw Failure.declined(
          translated(
            "this machine has no TPM. With --without-tpm the key is kept in memory: 'man latchkey-protector'."))
      }
      let promise = FingerPromise(SystemRoot("/"))
      StandardStream.output.show(promise.text + "\n" + (withoutTPM ? Self.costWithoutTPM + "\n" : ""))
      try asking.confirm(isConfirmed)
      try asking.add(withoutTPM ? .addFingerInMemory : .addFinger, at: place, status)
      print(promise.result)
    }
  }

  /// Removes the protector.
  func remove() throws {
    try Failure.telling {
      _ = try asking.remove(.removeFinger, at: place)
      // A request for its status makes latchkeyd read the keybag again, and give up the key.
      _ = try place.status()
      print(translated("No finger unlocks the vault from now on."))
    }
  }
}

import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram

/// Adds and removes the protector for logins without a password.
struct SessionProtectorChange {
  let place: DaemonPlace
  let asking: RootKeyAsking

  private static let promise = translated(
    """
    After a login without a password (automatic login, a fingerprint, a security key), your after-first-unlock
    secrets can then be read; labels and attributes too. Your password is still needed for all others.
    That is a weaker promise than before: whoever is root on this machine, or gets into your account by a service that
    is named in /etc/latchkey/services, has these secrets without your password. So has whoever gets a copy of this
    machine's disk, unless the device key is in a TPM.
    """)

  /// Adds the protector, after the person confirmed the weaker protection.
  func add(isConfirmed: Bool) throws {
    try Failure.telling {
      let status = try RootKeyAsking.statusToAdd(at: place)
      // If the device key is in the user's own file, everybody who reads that file could unwrap the secret.
      guard status.deviceKey == "host" || status.deviceKey == "tpm" else {
        throw Failure.declined(
          translated(
            """
            this needs the machine's device key service, and that service does not have your vault's device key. See \
            'latchkey status'.
            """))
      }
      StandardStream.output.show(Self.promise + "\n")
      try asking.confirm(isConfirmed)
      try asking.add(.addSession, at: place, status)
      print(translated("Logins without a password unlock your after-first-unlock secrets from now on."))
      if access("/etc/latchkey/services", F_OK) != 0 {
        print(
          translated(
            "No service is listed yet: your administrator writes names of PAM services into /etc/latchkey/services, one a line."
          ))
      }
    }
  }

  /// Removes the protector.
  func remove() throws {
    try Failure.telling {
      let answer = try asking.remove(.removeSession, at: place)
      print(translated("Logins without a password unlock nothing of the vault from now on."))
      guard answer == .done else { return }
      print(
        translated(
          """
          An older copy of the keybag still opens at such a login. After 'latchkey rotate' it opens only a copy of \
          the
          database of the same time. To end that for all copies, take the service out of /etc/latchkey/services.
          ('latchkey device forget', by root, ends it too, but loses every secret that is bound to this device.)
          """))
    }
  }
}

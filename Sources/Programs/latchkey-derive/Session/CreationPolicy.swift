import CLatchkeyHelper
import LatchkeyPosix

/// The accounts that get a vault at a first login. The module does not even start the helper for most of the services below. The
/// helper repeats the rule beside the code that it protects.
enum CreationPolicy {
  /// System accounts get no vault either: nobody logs in to them with a permanent password.
  static func allows(_ account: Account, service: String) -> Bool {
    account.uid >= Account.firstPersonUID && !helper_excludes_service(service)
  }
}

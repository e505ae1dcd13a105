import CLatchkeyHelper
import LatchkeyPosix

/// The accounts that get a vault at a first login. The module does not even start the helper for most of the services below;
/// the rule is here as well, beside what it protects.
enum CreationPolicy {
  /// System accounts get no vault either: nobody logs in as them with a password that should last.
  static func allows(_ account: Account, service: String) -> Bool {
    account.uid >= Account.firstPersonUID && !helper_excludes_service(service)
  }
}

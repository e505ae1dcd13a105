import LatchkeyGettext

/// What the vault, the device key service and the modules below answer. They speak English: on the bus, on the control socket, in
/// logs and in files. A person reads it in their language; what these lists do not have stays English.
enum Answers {
  private static let known = Templates(
    service + vault + device + rules, semicolon: Template("\(.text); \(.text)"), colon: Template("\(.text): \(.text)"))

  /// An answer in the person's language.
  static func told(_ text: String) -> String { known.translation(of: text) }
}

import LatchkeyGettext

/// The answers of the vault, the device key service and the modules below. They speak English: on the bus, on the control
/// socket, in logs and in files. A person reads it in their language; an answer that is missing in these lists stays English.
enum Answers {
  private static let known = Templates(
    service + vault + device + rules, semicolon: Template("\(.text); \(.text)"), colon: Template("\(.text): \(.text)"))

  /// An answer in the person's language.
  static func told(_ text: String) -> String { known.translation(of: text) }
}

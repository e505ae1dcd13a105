import LatchkeyText

/// Reasons of one topic, without values.
package protocol ReasonGroup: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {
  /// The first word of the codes of the group's reasons.
  static var name: String { get }
  /// The sentence.
  var phrase: Phrase { get }
}

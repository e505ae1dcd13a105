import LatchkeySodium

extension SecureBytes {
  /// Whether they are text in UTF-8. They are looked at in place: a `String` would be a copy that nobody erases.
  var isText: Bool {
    bytes.withUnsafeBytes { (try? UTF8Span(validating: $0.bindMemory(to: UInt8.self).span)) != nil }
  }
}

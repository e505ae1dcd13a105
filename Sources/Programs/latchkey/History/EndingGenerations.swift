import LatchkeyGettext

/// The generations of the vault that a change ends, because they open with less than the vault requires from then on.
struct EndingGenerations {
  private let place: DaemonPlace
  private let count: UInt32

  /// Counts the generations before the change.
  init(_ place: DaemonPlace) {
    self.place = place
    count = (try? place.status().history.count) ?? 0
  }

  /// Says which generations a new passphrase ends, before a person gives it.
  func announceForPassphrase() {
    tell(
      translated(
        count,
        one: """
          1 generation of the vault will be removed: it opens without this passphrase. Press Ctrl-C to keep it.
          """,
        other: """
          \(count) generations of the vault will be removed: they open without this passphrase. Press Ctrl-C to keep them.
          """))
  }

  /// Says which generations new keys end, before a person gives the password.
  func announceForKeys() {
    tell(
      translated(
        count,
        one: """
          1 generation of the vault will be removed: the former keys open it. Press Ctrl-C to keep it.
          """,
        other: """
          \(count) generations of the vault will be removed: the former keys open them. Press Ctrl-C to keep them.
          """))
  }

  /// Says that the generations were removed.
  func report() {
    tell(translated(count, one: "1 generation was removed.", other: "\(count) generations were removed."))
  }

  /// Says that the generations will be removed when the vault has made a generation with the new keys.
  func reportForKeys() {
    tell(
      translated(
        count, one: "1 earlier generation is removed as soon as a new one is made.",
        other: "\(count) earlier generations are removed as soon as a new one is made."))
  }

  /// Says something only if there are any.
  private func tell(_ text: String) { if count > 0 { print(text) } }
}

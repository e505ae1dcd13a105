/// How long the agent asks for nothing more after it asked a person, by a question or for a touch.
enum QuietTime {
  /// After a question that was not allowed, or a touch that did not come. A client can withdraw its request or let its time run
  /// out. A person who is about to click or to touch must see that the next one is another.
  static let unanswered = Duration.seconds(2)
  /// After an answer. A person may click, press Enter or touch twice, and means the request that was answered.
  static let answered = Duration.milliseconds(500)
}

/// How long the agent is quiet after a question to the person or a request for a touch.
enum QuietTime {
  /// After a refused question or a missing touch. A client can withdraw its request or let its time run out. A person who is about
  /// to click or to touch must see that the next one is another.
  static let unanswered = Duration.seconds(2)
  /// After an answer. A person may click, press Enter or touch twice for the same request.
  static let answered = Duration.milliseconds(500)
}

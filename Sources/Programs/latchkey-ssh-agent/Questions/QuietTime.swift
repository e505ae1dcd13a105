/// How long the agent is quiet after a question to the person or a request for a touch.
enum QuietTime {
  /// After a refused question or a missing touch. A client can end its request at any moment, and the person may be about to click
  /// or to touch. They must first see that the next question is a different one.
  static let unanswered = Duration.seconds(2)
  /// After an answer. The person may click, press Enter or touch a second time for the same request.
  static let answered = Duration.milliseconds(500)
}

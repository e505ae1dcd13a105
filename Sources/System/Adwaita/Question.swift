import CLatchkeyAdwaita

/// A question in its own window, in front of another window.
public final class Question: Widget {
  /// How an answer looks.
  public enum Style { case plain, suggested, destructive }

  /// Asks the person.
  ///
  /// - Parameters:
  ///   - answers: the name, text and style of each answer. Escape gives the first answer.
  ///   - content: a widget below the text.
  ///   - then: gets the name of the answer.
  public init(
    _ title: String, _ text: String, answers: [(name: String, text: String, style: Style)], content: Widget? = nil,
    over window: Window, then: @escaping (String) -> Void
  ) {
    super.init(latchkey_message_dialog(window.cast(), title, text))
    for answer in answers {
      adw_message_dialog_add_response(cast(), answer.name, answer.text)
      switch answer.style {
      case .plain: break
      case .suggested:
        adw_message_dialog_set_response_appearance(cast(), answer.name, ADW_RESPONSE_SUGGESTED)
        adw_message_dialog_set_default_response(cast(), answer.name)
      case .destructive: adw_message_dialog_set_response_appearance(cast(), answer.name, ADW_RESPONSE_DESTRUCTIVE)
      }
    }
    if let first = answers.first { adw_message_dialog_set_close_response(cast(), first.name) }
    if let content {
      keep(content)
      adw_message_dialog_set_extra_child(cast(), content.pointer)
    }
    // The handler keeps the question alive until the person answers.
    Handler.connect(raw, argumentOf: "response") { [self] name in
      let answer = name.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? ""
      withExtendedLifetime(self) { then(answer) }
    }
    gtk_window_present(cast())
  }

  /// Gives an answer for the person, for example when they press Enter in a field.
  public func answer(_ name: String) {
    adw_message_dialog_response(cast(), name)
    // Only libadwaita's own buttons close the dialog. Closing it here would count as one more answer, so this destroys it.
    gtk_window_destroy(cast())
  }
}

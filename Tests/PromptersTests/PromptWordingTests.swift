import LatchkeyControl
import LatchkeyKeybag
import Testing

@testable import LatchkeyPrompters

@Suite("The words of a prompt")
struct PromptWordingTests {
  @Test(
    "a name is one line, without characters that control a terminal or change the writing direction",
    arguments: [
      ("Mail", "Mail"), ("", ""), ("  a\t\n\r b\u{1B}[31m ", "a b [31m"), ("\u{202E}\u{200B}\u{0}", ""),
      ("say \"hi\"", "say 'hi'"), ("say \"\u{301}", "say '\u{301}"), ("a\u{2028}b\u{A0}c\u{9B}d", "a b c d"),
      (String(repeating: "x", count: 81), String(repeating: "x", count: 80) + "…"),
      (String(repeating: "ü", count: 81), String(repeating: "ü", count: 58) + "…"),
      ("e" + String(repeating: "\u{301}", count: 500) + "a\u{323}", "e\u{301}\u{301}a\u{323}"),
      ("e\u{301}\u{301} \u{301}\u{200D}\u{301}\u{301}", "e\u{301}\u{301} \u{301}\u{301}"),
      ("<b>Bank</b> & Co", "(b)Bank(/b) + Co"), ("&lt;i&gt;&#60;", "+lt;i+gt;+#60;"), ("\u{301}\u{20DD}name", "name"),
      ("ok.” Latchkey „now“ «so» it’s", "ok.' Latchkey 'now' 'so' it’s"),
    ])
  func names(_ text: String, _ shown: String) {
    #expect(PlainText.name(text).unicodeScalars.elementsEqual(shown.unicodeScalars))
  }

  @Test("another program's question is shown whole, or not at all")
  func lines() {
    let host = String(repeating: "h", count: 500)
    let question = "The host '\(host)' is new.\r\n\n\u{1B}[2JIts key is SHA256:x.\nGo on (yes/no)? "
    #expect(PlainText.lines(question) == "The host '\(host)' is new.\n[2JIts key is SHA256:x.\nGo on (yes/no)?")
    #expect(PlainText.lines(question + String(repeating: "%", count: 200)) == nil)
    #expect(PlainText.lines(String(repeating: "a\n", count: 16)) != nil)
    #expect(PlainText.lines(String(repeating: "a\n", count: 17)) == nil)
    let longest = String(repeating: "x", count: PlainText.linesBytes)
    #expect(PlainText.lines(longest).map { Assuan.fits("SETDESC " + Assuan.escape($0 + "\n\n")) } == true)
  }

  private func wording(
    _ purpose: PromptRequest.Purpose, label: String = "", caller: String = "", at service: PromptStep.Service? = nil
  ) -> PromptWording {
    let usual: PromptStep.Service =
      switch purpose {
      case .login, .newVault, .loginAdvice: .unlock
      case .collection, .newPassphrase: .collection
      case .item, .itemAccess, .newItemPassphrase: .item
      }
    let request = PromptRequest(purpose: purpose, label: label, caller: caller, window: "", terminal: "")
    return PromptWording(request, at: service ?? usual)
  }

  @Test("without a vault, a prompt says that a login password creates it, if the login has a password")
  func newVault() {
    let creating = wording(.newVault, caller: "mail").question("Password: ", isVisible: false, warning: "")
    let opening = wording(.login, caller: "mail").question("Password: ", isVisible: false, warning: "")
    #expect(creating.message == "Enter your login password" && creating.label == opening.label && !creating.isNew)
    #expect(creating.detail == "\(opening.detail) \(PromptWording.creation)")
    #expect(PromptWording.creation.contains("Your login password, if your account has one, creates it"))
  }

  @Test("the login collection's password, and the way to change it")
  func loginAdvice() {
    let advice = wording(.loginAdvice, label: "Login", caller: "seahorse").advice()
    #expect(advice.isConfirmation && advice.message.hasPrefix("Your login password unlocks the collection \"Login\"."))
    #expect(advice.detail.contains("\"seahorse\"") && advice.detail.contains("'passwd'"))
  }

  @Test("the requirements of an item")
  func item() {
    let passphrase = wording(.item, label: "Bank", caller: "mail").question(
      "Passphrase: ", isVisible: false, warning: "")
    #expect(passphrase.message == "Enter the passphrase of the item \"Bank\"" && !passphrase.isNew)
    let wanted = "The application \"mail\" (as far as can be told) wants to read or change the item \"Bank\"."
    #expect(passphrase.detail == wanted)
    // A question of Latchkey's own module adds nothing. A question of any other module is shown.
    for (asked, shown) in [
      ("Passphrase for 'Bank', wanted by mail: ", passphrase.message),
      ("Passphrase for 'Bank': ", "Passphrase for 'Bank'"),
      ("Passphrase for 'Shop', wanted by mail: ", "Passphrase for 'Shop', wanted by mail"),
    ] {
      let question = wording(.item, label: "Bank", caller: "mail").question(asked, isVisible: false, warning: "")
      #expect(question.message == shown)
    }
    let presence = wording(.item, label: "Bank", at: .presence).question("Password: ", isVisible: false, warning: "")
    #expect(presence.message == "Enter your login password to unlock the item \"Bank\"")
    let new = wording(.newItemPassphrase, label: "Bank", caller: "mail")
      .question("Passphrase for 'Bank', wanted by mail: ", isVisible: false, warning: "")
    #expect(new.isNew && new.message == "Choose a passphrase for the item \"Bank\"")
    let named = "The application \"mail\" (as far as can be told)"
    #expect(new.detail == "\(named) wants the item \"Bank\" to have a passphrase.")
    let request = PromptRequest(
      purpose: .itemAccess, label: "Bank", caller: "mail", window: "", terminal: "", change: "to require nothing")
    let change = PromptWording(request, at: .presence).question("Password: ", isVisible: false, warning: "")
    #expect(
      change.detail == "If you agree, the item \"Bank\" is to require nothing from now on. \(named) wants this.")
    #expect(!change.isNew)
    #expect(wording(.item, at: .presence).refusal != wording(.item).refusal)
  }

  @Test(
    "the time for which a client may read again",
    arguments: [
      (1, "for a second"), (60, "for a minute"), (90, "for 90 seconds"), (300, "for 5 minutes"),
    ] as [(UInt16, String)])
  func reuse(_ seconds: UInt16, _ text: String) {
    let request = PromptRequest(
      purpose: .item, label: "Bank", caller: "mail", window: "", terminal: "", reuse: seconds)
    let question = PromptWording(request, at: .presence).question("Password: ", isVisible: false, warning: "")
    #expect(
      question.detail
        == "The application \"mail\" (as far as can be told) wants to read or change the item \"Bank\", and to read it again \(text) without asking."
    )
  }

  @Test(
    "however long a program's names are, a line of pinentry has the whole question, with its consequence first",
    arguments: ["x", "%", "ä", "🔑", "漢"], PromptRequest.Purpose.all)
  func longNames(_ letter: String, _ purpose: PromptRequest.Purpose) {
    let name = String(repeating: letter, count: 255)
    let request = PromptRequest(
      purpose: purpose, label: name, caller: name, window: name, terminal: "", reuse: 299,
      change:
        "to require biometry-current-set,device-passcode,or,application-password, with the fingers that are enrolled "
        + "now, to get another passphrase, to have the class when-passcode-set-this-device-only",
      reason: name, hasPassphrase: true)
    for service: PromptStep.Service in [.unlock, .collection, .presence, .biometry, .item] {
      let wording = PromptWording(request, at: service, script: name)
      for question in [wording.question("Password: ", isVisible: false, warning: name), wording.confirmation()] {
        #expect(Assuan.fits("SETDESC \(Assuan.escape("\(question.message)\n\n\(question.detail)"))"))
        #expect(Assuan.fits("SETPROMPT \(Assuan.escape(question.label))"))
        if purpose == .itemAccess {
          #expect(question.detail.contains("when-passcode-set-this-device-only from now on. The application"))
        }
      }
    }
  }

  @Test("an interpreter's script is shown next to the interpreter's name")
  func script() {
    let request = PromptRequest(purpose: .login, label: "", caller: "python3.11", window: "", terminal: "")
    let question = PromptWording(request, at: .unlock, script: "hg\"\n").question("", isVisible: false, warning: "")
    #expect(
      question.detail
        == "The application \"python3.11, running 'hg''\" (as far as can be told) wants access to your secrets.")
  }

  @Test(
    "the steps of a prompt",
    arguments: [
      ("user-presence", [[.presence]]), ("device-passcode", [[.presence]]), ("biometry-any", [[.biometry]]),
      ("application-password", [[.item]]), ("user-presence,application-password", [[.presence], [.item]]),
      ("biometry-any,device-passcode", [[.biometry], [.presence]]),
      ("biometry-any,device-passcode,and", [[.biometry], [.presence]]),
      ("biometry-current-set,device-passcode,or", [[.biometry, .presence]]),
      ("biometry-any,device-passcode,or,application-password", [[.biometry, .presence], [.item]]), ("", []),
    ] as [(String, [[PromptStep.Service]])])
  func steps(_ text: String, _ services: [[PromptStep.Service]]) throws {
    for purpose in [PromptRequest.Purpose.item, .itemAccess] {
      let request = PromptRequest(
        purpose: purpose, label: "", caller: "", window: "", terminal: "", access: try AccessControl(text: text))
      #expect(PromptStep.steps(of: request).map(\.services) == services)
    }
  }

  @Test("the login password")
  func login() {
    let question = wording(.login, caller: "mail").question("Password: ", isVisible: false, warning: "w")
    #expect(question.message == "Enter your login password")
    #expect(question.detail == "The application \"mail\" (as far as can be told) wants access to your secrets.")
    #expect(question.warning == "w" && !question.isNew && !question.isVisible)
    #expect(wording(.login).question("", isVisible: false, warning: "").detail.hasPrefix("An application wants"))
  }

  @Test("a question of another PAM module is shown unchanged", arguments: PromptRequest.Purpose.all)
  func others(_ purpose: PromptRequest.Purpose) {
    let question = wording(purpose).question("Code\n on your\u{1B} token:  ", isVisible: true, warning: "")
    #expect(question.message == "Code on your token" && question.label == "Code on your token:")
    #expect(question.isVisible && !question.isNew)
  }

  @Test("a new passphrase")
  func newPassphrase() {
    let wording = wording(.newPassphrase, label: "Work")
    let question = wording.question("Passphrase: ", isVisible: false, warning: "w")
    #expect(question.isNew && question.message == "Choose a passphrase for the collection \"Work\"")
    let second = wording.repetition(of: question)
    #expect(second.message != question.message && second.warning.isEmpty && second.isNew)
  }

  @Test(
    "the desktop is recognised by its environment",
    arguments: [
      ([:], false, false), (["DISPLAY": ""], false, false),
      (["DISPLAY": ":0", "XDG_CURRENT_DESKTOP": "KDE"], true, true),
      (["WAYLAND_DISPLAY": "wayland-0", "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"], true, false),
      (["XDG_CURRENT_DESKTOP": "X:kde"], false, true), (["XDG_CURRENT_DESKTOP": "KDEX"], false, false),
    ] as [([String: String], Bool, Bool)])
  func desktop(_ environment: [String: String], _ hasDisplay: Bool, _ isPlasma: Bool) {
    let desktop = Desktop { environment[$0] }
    #expect(desktop.hasDisplay == hasDisplay && desktop.isPlasma == isPlasma)
  }
}

extension PromptRequest.Purpose {
  fileprivate static let all: [PromptRequest.Purpose] = [
    .login, .collection, .newPassphrase, .item, .newItemPassphrase,
  ]
}

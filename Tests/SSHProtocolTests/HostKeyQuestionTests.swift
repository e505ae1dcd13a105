import LatchkeySSHProtocol
import Testing

@Suite("Questions of OpenSSH")
struct HostKeyQuestionTests {
  @Test("only a question about a host's key has an answer that may be visible")
  func visible() {
    let first = "The authenticity of host 'a (10.0.0.1)' can't be established.\nED25519 key fingerprint is SHA256:x.\n"
    for question in [
      first + "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
      first + "Are you sure you want to continue connecting (yes/no)? ", "Please type 'yes' or 'no': ",
      "Please type 'yes', 'no' or the fingerprint: ",
    ] { #expect(HostKeyQuestion.matches(question)) }
    for question in [
      "Enter passphrase for key '/tmp/x (yes/no': ", "(me@host) The authenticity of host 'a (yes/no)? ",
      "me@host (yes/no)'s password: ", first + "Password (yes/no): ", "",
    ] { #expect(!HostKeyQuestion.matches(question)) }
  }
}

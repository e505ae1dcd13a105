import Foundation
import LatchkeyKeychain
import LatchkeySecurity
import Testing

@Suite("Errors")
struct ErrorTests {
  @Test("Every code has its case, which returns the code and Apple's sentence")
  func codes() {
    let table: [(OSStatus, KeychainError)] = [
      (errSecItemNotFound, .notFound), (errSecDuplicateItem, .duplicate), (errSecInteractionNotAllowed, .locked),
      (errSecUserCanceled, .cancelled), (errSecAuthFailed, .authenticationFailed),
      (errSecNotAvailable, .notAvailable), (errSecMissingEntitlement, .missingEntitlement),
      (errSecParam, .invalidParameter), (errSecUnimplemented, .unsupported), (errSecDataTooLarge, .tooLarge),
      (errSecDiskFull, .diskFull), (errSecDecode, .damaged), (errSecIO, .other(-36)),
      (12345, .other(12345)),
    ]
    for (status, error) in table {
      #expect(KeychainError(status: status) == error)
      #expect(error.status == status)
      #expect(error.message == SecCopyErrorMessageString(status, nil) as String?)
    }
    #expect(KeychainError(status: errSecSuccess) == nil)
    #expect(KeychainError.notText.status == errSecDecode)
    let notText = "Unable to decode the provided data. The secret is not UTF-8 text. Read it as data."
    #expect(KeychainError.notText.message == notText)
    #expect(KeychainError.notText.localizedDescription == notText)
    #expect(KeychainError.other(12345).message == "OSStatus 12345")
    #expect("\(KeychainError.other(12345))" == "OSStatus 12345")
  }

  @Test("Errors, as Foundation's errors, have the code, its domain and the sentence")
  func bridged() {
    let error = KeychainError.notFound as NSError
    #expect(error.domain == NSOSStatusErrorDomain)
    #expect(error.code == -25300)
    #expect(KeychainError.notFound.localizedDescription == "The specified item could not be found in the keychain.")
  }

  @Test("An error keeps the cause of its call, on every thread and after later calls")
  func cause() async {
    let vault = Vault(groups: [])
    let keychain = vault.keychain()
    do throws(KeychainError) {
      _ = try await keychain.get("anna")
      Issue.record("it was read without a group")
    } catch {
      vault.add([kSecAttrService: "other"])
      #expect(error == .missingEntitlement)
      #expect(error.message.hasPrefix("A required entitlement isn't present. The program has no access group, because"))
      #expect(error.localizedDescription == error.message)
    }
  }

  @Test("Without a vault behind the functions, the error says so")
  func everyCall() {
    let status: OSStatus = errSecNotAvailable
    let calls = ItemCalls(
      add: { _, _ in status }, copyMatching: { _, _ in status }, update: { _, _ in status }, delete: { _ in status })
    let keychain = ItemCalls.$current.withValue(calls) { Keychain(service: "mail") }
    #expect(thrown { () throws(KeychainError) in try keychain.get("anna") } == .notAvailable)
    #expect(thrown { () throws(KeychainError) in try keychain.getString("anna") } == .notAvailable)
    #expect(thrown { () throws(KeychainError) in try keychain.set("x", for: "anna") } == .notAvailable)
    #expect(thrown { () throws(KeychainError) in try keychain.delete("anna") } == .notAvailable)
    #expect(thrown { () throws(KeychainError) in try keychain.contains("anna") } == .notAvailable)
    #expect(thrown { () throws(KeychainError) in try keychain.accounts() } == .notAvailable)
  }
}

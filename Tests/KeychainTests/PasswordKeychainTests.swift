import Foundation
import LatchkeyKeychain
import Testing

/// The tests run one after the other, because the accessibility is a setting of the whole program.
@Suite("Passwords by service and account", .serialized)
struct PasswordKeychainTests {
  private let vault = Vault()

  private func inVault(_ body: () throws -> Void) rethrows {
    defer { PasswordKeychain.accessibilityType = nil }
    try ItemCalls.$current.withValue(vault.calls()) { try body() }
  }

  private var accessible: [String] { vault.store.items.map(\.protection.accessible.constant) }

  @Test("A password is set, read, replaced, listed and deleted, as text and as bytes")
  func life() throws {
    try inVault {
      #expect(try PasswordKeychain.accounts(forService: "mail") == [])
      #expect(read() == .notFound)
      try PasswordKeychain.setPassword("one", forService: "mail", account: "anna")
      try PasswordKeychain.setPassword("two", forService: "mail", account: "anna")
      #expect(try PasswordKeychain.password(forService: "mail", account: "anna") == "two")
      try PasswordKeychain.setPasswordData(Data([0xff]), forService: "mail", account: "berta")
      #expect(try PasswordKeychain.passwordData(forService: "mail", account: "berta") == Data([0xff]))
      #expect(
        thrown { () throws(KeychainError) in try PasswordKeychain.password(forService: "mail", account: "berta") }
          == .notText)
      #expect(try PasswordKeychain.accounts(forService: "mail") == ["anna", "berta"])
      #expect(try PasswordKeychain.accounts(forService: "chat") == [])
      try PasswordKeychain.deletePassword(forService: "mail", account: "anna")
      #expect(read() == .notFound)
      #expect(
        thrown { () throws(KeychainError) in try PasswordKeychain.deletePassword(forService: "mail", account: "anna") }
          == .notFound)
    }
  }

  private func read() -> KeychainError? {
    thrown { () throws(KeychainError) in try PasswordKeychain.password(forService: "mail", account: "anna") }
  }

  @Test("The accessibility applies to later passwords, and to no earlier ones")
  func accessibility() throws {
    try inVault {
      #expect(PasswordKeychain.accessibilityType == nil)
      try PasswordKeychain.setPassword("x", forService: "mail", account: "anna")
      PasswordKeychain.accessibilityType = .afterFirstUnlock
      #expect(PasswordKeychain.accessibilityType == .afterFirstUnlock)
      #expect(accessible == ["ak"])
      try PasswordKeychain.setPassword("x", forService: "mail", account: "berta")
      PasswordKeychain.accessibilityType = .whenUnlockedThisDeviceOnly
      try PasswordKeychain.setPassword("x", forService: "chat", account: "anna")
      #expect(accessible == ["ak", "ck", "aku"])
      try PasswordKeychain.setPassword("y", forService: "mail", account: "anna")
      #expect(accessible == ["aku", "ck", "aku"])
      PasswordKeychain.accessibilityType = nil
      try PasswordKeychain.setPassword("y", forService: "mail", account: "berta")
      #expect(accessible == ["aku", "ck", "aku"])
    }
  }

  @Test("All threads see the same accessibility")
  func threads() {
    defer { PasswordKeychain.accessibilityType = nil }
    PasswordKeychain.accessibilityType = .always
    DispatchQueue.concurrentPerform(iterations: 8) { _ in #expect(PasswordKeychain.accessibilityType == .always) }
  }
}

// swift-format-ignore-file
import Foundation
import LocalAuthentication

final class ContextSubclass: LAContext, @unchecked Sendable {
  var asked = 0
  override var localizedReason: String {
    get { asked += 1; return super.localizedReason }
    set { super.localizedReason = newValue }
  }
  override func invalidate() { super.invalidate() }
}

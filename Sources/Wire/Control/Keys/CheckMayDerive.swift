/// Says that this process is about to work on a password to change the keybag, and that no keys follow. During
/// ``ControlClient/derive(_:)`` the daemon ends this process before the machine sleeps, at `latchkey lock`, and when its session
/// has ended. It does the same with a process that brings keys. If the daemon declines, it gives the reason.
package struct CheckMayDerive: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 34
  package init() {}
}

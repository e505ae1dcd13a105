/// Says that this process is about to work on a password, to change the keybag: no keys follow. The daemon then ends it in
/// ``ControlClient/derive(_:)`` as it does one that brings keys: before the machine sleeps, by command, and when its session
/// has ended. Declined with why not.
package struct CheckMayDerive: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 34
  package init() {}
}

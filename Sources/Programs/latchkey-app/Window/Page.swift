import LatchkeyAdwaita
import LatchkeyControl

/// A page of the window.
protocol Page: AnyObject {
  /// The title, for the bar at the top.
  var title: String { get }
  var widget: Widget { get }
  /// Called when the person opens the page.
  func appear()
  /// Called when the person wants the page read again.
  func reload()
  /// Called when the person leaves the page.
  func leave()
  /// Called when the vault has changed its state. The new state is "sealed", "unlocked" or "locked".
  func vaultChanged(_ state: String)
}

extension Page {
  func reload() { appear() }
  func leave() {}
  func vaultChanged(_ state: String) {}
}

import LatchkeyAdwaita
import LatchkeyControl

/// A page of the window.
protocol Page: AnyObject {
  /// Its title, for the bar at the top.
  var title: String { get }
  var widget: Widget { get }
  /// The person opened the page.
  func appear()
  /// The person wants the page read again.
  func reload()
  /// A person leaves it.
  func leave()
  /// The vault is in another state: "sealed", "unlocked" or "locked".
  func vaultChanged(_ state: String)
}

extension Page {
  func reload() { appear() }
  func leave() {}
  func vaultChanged(_ state: String) {}
}

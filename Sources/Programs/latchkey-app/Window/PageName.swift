import LatchkeyGettext

/// The pages of the window, as the command line names them.
enum PageName: String, CaseIterable {
  case items
  case yesterday
  case movingIn = "moving-in"
  case unlocking
  case health
  case whoAsked = "who-asked"

  /// The title for a person.
  var title: String {
    switch self {
    case .items: translated("Items")
    case .yesterday: translated("Yesterday")
    case .movingIn: translated("Moving In")
    case .unlocking: translated("Unlocking")
    case .health: translated("Health")
    case .whoAsked: translated("Who Asked")
    }
  }

  /// The symbol of the page's row at the side.
  var symbol: String {
    switch self {
    case .items: "view-grid-symbolic"
    case .yesterday: "document-open-recent-symbolic"
    case .movingIn: "folder-download-symbolic"
    case .unlocking: "dialog-password-symbolic"
    case .health: "object-select-symbolic"
    case .whoAsked: "view-list-symbolic"
    }
  }
}

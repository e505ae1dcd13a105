import LatchkeyDoctor
import LatchkeyPosix

/// The settings of KWallet that this program obeys, from `kwalletrc`. The person's own settings come before the settings for all
/// users.
struct WalletSettings {
  /// Whether wallets may be opened at all.
  private(set) var isEnabled = true
  /// Whether a wallet keeps its handle when no program uses the wallet any more.
  private(set) var leavesOpen = true
  /// The wallet of most programs.
  private(set) var networkWallet = Self.usualWallet
  /// The wallet for secrets of this machine. It is the same as the network wallet unless the person chose two.
  private(set) var localWallet = Self.usualWallet

  private static let usualWallet = "kdewallet"
  private static let section = "Wallet"

  /// Reads the files again.
  init() {
    let root = SystemRoot()
    let environment = LatchkeyPosix.Process.environment
    let own =
      environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
      ?? (environment["HOME"] ?? "") + "/.config"
    let shared = environment["XDG_CONFIG_DIRS"].flatMap { $0.isEmpty ? nil : $0 } ?? "/etc/xdg"
    let texts = ([own] + shared.split(separator: ":").map { String($0) }).compactMap { folder -> SettingsText? in
      guard case .text(let text) = root.content("\(folder)/kwalletrc") else { return nil }
      return SettingsText(text)
    }
    func value(_ key: String) -> String? {
      for text in texts {
        // The administrator can lock a line or a section, which then has the mark `[$i]`.
        for section in [Self.section, "\(Self.section)][$i]"] {
          for key in [key, "\(key)[$i]"] {
            if let value = text.value(key, in: section), !value.isEmpty { return value }
          }
        }
      }
      return nil
    }
    func isOn(_ key: String, otherwise standard: Bool) -> Bool {
      value(key).map { ["true", "1", "on", "yes"].contains($0.lowercased()) } ?? standard
    }
    isEnabled = isOn("Enabled", otherwise: true)
    leavesOpen = isOn("Leave Open", otherwise: true)
    networkWallet = value("Default Wallet") ?? Self.usualWallet
    localWallet = isOn("Use One Wallet", otherwise: true) ? networkWallet : value("Local Wallet") ?? "localwallet"
  }
}

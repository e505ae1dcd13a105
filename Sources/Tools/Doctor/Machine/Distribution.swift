/// The kind of distribution. It decides how PAM is set up, and the names of packages.
enum Distribution: Equatable {
  case debian
  case fedora
  case arch
  case suse
  case other

  init(_ root: SystemRoot) {
    let path = root.contains("/etc/os-release") ? "/etc/os-release" : "/usr/lib/os-release"
    var words: [Substring] = []
    for line in root.lines(path) where line.hasPrefix("ID=") || line.hasPrefix("ID_LIKE=") {
      words += line.drop { $0 != "=" }.dropFirst().split { "\"' ".contains($0) }
    }
    let known: [(Substring, Distribution)] = [
      ("debian", .debian), ("ubuntu", .debian), ("fedora", .fedora), ("rhel", .fedora), ("centos", .fedora),
      ("arch", .arch), ("suse", .suse), ("opensuse", .suse), ("opensuse-tumbleweed", .suse), ("opensuse-leap", .suse),
    ]
    self = known.first { words.contains($0.0) }?.1 ?? .other
  }

  /// The command that installs packages by this distribution's names; nil if these are unknown.
  func installing(debian: String, fedora: String, arch: String, suse: String) -> Finding.Fix? {
    switch self {
    case .debian: .command("sudo apt-get install \(words: Self.words(debian))")
    case .fedora: .command("sudo dnf install \(words: Self.words(fedora))")
    case .arch: .command("sudo pacman -S \(words: Self.words(arch))")
    case .suse: .command("sudo zypper install \(words: Self.words(suse))")
    case .other: nil
    }
  }

  private static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}

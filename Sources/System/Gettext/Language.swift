import CLatchkeyGettext
import Glibc

/// The language in which this program speaks to a person. It is English before ``begin()``. It stays English if the system does not
/// have the locale, or if the catalogue is missing.
///
/// Only the texts of ``translated(_:)`` change with the language. The process stays in the locale "C": numbers, times, system
/// errors and the texts of other libraries are the same in every language.
package enum Language {
  // Programs choose the language before they start threads. The daemon changes it later, but has one thread only.
  nonisolated(unsafe) private static var locale: locale_t?

  /// Takes the language of this process's environment.
  package static func begin() { use { name in getenv(name).map { String(cString: $0) } } }

  /// Takes the language of an environment; `variable` gives the value of a variable. A language that names a path is refused,
  /// because catalogues come only from the folder in which Latchkey is installed.
  package static func use(_ variable: (String) -> String?) {
    end()
    let name = ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { variable($0) }.first { !$0.isEmpty } ?? "C"
    let list = variable("LANGUAGE") ?? ""
    guard name != "C", name != "POSIX", !(name + list).utf8.contains(UInt8(ascii: "/")), let folder = catalogues else {
      return
    }
    // gettext reads the language from this variable.
    if list.isEmpty { unsetenv("LANGUAGE") } else { setenv("LANGUAGE", list, 1) }
    guard let found = gettext_language(name), gettext_open(folder) == 0 else { return }
    locale = found
  }

  /// Speaks English from now on.
  package static func end() {
    if let locale { freelocale(locale) }
    locale = nil
  }

  /// Whether texts may be other than English.
  static var isChosen: Bool { locale != nil }

  /// PREFIX/share/locale, found from the folder of this program, as `make install` places it.
  private static var catalogues: String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return nil }
    var path = String(decoding: buffer.prefix(count), as: UTF8.self)
    for _ in 0..<4 {
      guard let slash = path.lastIndex(of: "/") else { return nil }
      path = String(path[..<slash])
      if access("\(path)/share/latchkey/rules.yaml", F_OK) == 0 { return "\(path)/share/locale" }
    }
    return nil
  }

  /// The translation of a text; nil if there is none.
  static func find(_ key: String) -> String? {
    // The entry of the empty text is the catalogue's header.
    guard let locale, !key.isEmpty else { return nil }
    return key.withCString { key in
      guard let found = gettext_find(locale, key), found != key else { return nil }
      return String(validatingCString: found)
    }
  }

  /// The translation of a text that depends on a number.
  static func find(_ one: String, _ other: String, _ count: UInt) -> String? {
    guard let locale else { return nil }
    return one.withCString { one in
      other.withCString { other in
        guard let found = gettext_find_plural(locale, one, other, count), found != one, found != other else {
          return nil
        }
        return String(validatingCString: found)
      }
    }
  }
}

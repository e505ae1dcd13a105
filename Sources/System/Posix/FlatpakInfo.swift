/// The file that Flatpak puts into the root folder of each sandbox, where the program inside cannot change it.
public enum FlatpakInfo {
  /// The file's name.
  public static let name = ".flatpak-info"
  /// The most bytes that are read of the file.
  public static let sizeLimit = 64 << 10

  /// The id of the application, as in "[Application]", "name=org.example.Mail"; nil for a file without an id.
  public static func application(in content: [UInt8]) -> String? {
    var isApplication = false
    for line in String(decoding: content, as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("[") {
        isApplication = line == "[Application]"
      } else if isApplication, line.hasPrefix("name=") {
        let id = line.dropFirst("name=".count)
        return id.isEmpty ? nil : String(id)
      }
    }
    return nil
  }
}

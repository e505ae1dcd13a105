import CLatchkeySystemd

/// The machine id of /etc/machine-id. The machine id must not be revealed, so only values derived from it are offered.
public enum MachineID {
  /// 16 bytes derived from the machine id and an application's own 16 bytes (HMAC-SHA256, cut); nil if the machine has no id
  /// yet, or `application` is not 16 bytes.
  public static func appSpecific(_ application: [UInt8]) -> [UInt8]? {
    var id = sd_id128()
    guard application.count == 16 else { return nil }
    withUnsafeMutableBytes(of: &id) { $0.copyBytes(from: application) }
    var result = sd_id128()
    guard sd_id128_get_machine_app_specific(id, &result) >= 0 else { return nil }
    return withUnsafeBytes(of: result) { Array($0) }
  }
}

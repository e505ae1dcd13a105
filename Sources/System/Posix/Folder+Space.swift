import Glibc

extension Folder {
  /// How many bytes the file system of the folder has left for its owner; 0 where it does not say.
  public var freeSpace: Int {
    var status = statvfs()
    guard fstatvfs(number, &status) == 0 else { return 0 }
    return Int(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  /// Whether nothing can be written there, because the file system is mounted read-only.
  public var isReadOnly: Bool {
    var status = statvfs()
    return fstatvfs(number, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
  }
}

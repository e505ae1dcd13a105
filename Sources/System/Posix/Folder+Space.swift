import Glibc

extension FileDescriptor {
  /// The free bytes for a user in the file system of the file; nil if it does not say.
  public var freeSpace: Int? { roomLeft(on: number) }

  /// Whether nothing can be written beside the file, because its file system is mounted read-only.
  public var isOnReadOnlyDisk: Bool { isMountedReadOnly(number) }
}

private func roomLeft(on number: Int32) -> Int? {
  var status = statvfs()
  guard fstatvfs(number, &status) == 0 else { return nil }
  return Int(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
}

private func isMountedReadOnly(_ number: Int32) -> Bool {
  var status = statvfs()
  return fstatvfs(number, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
}

extension Folder {
  /// The free bytes for the owner in the file system of the folder; 0 if it does not say.
  public var freeSpace: Int { roomLeft(on: number) ?? 0 }

  /// Whether nothing can be written there, because the file system is mounted read-only.
  public var isReadOnly: Bool { isMountedReadOnly(number) }
}

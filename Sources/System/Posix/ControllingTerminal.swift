import Glibc

/// The terminal that a process was started on, by the kernel's number of the device.
public enum ControllingTerminal {
  /// The folder in which the kernel shows every character device by its number.
  static let devices = "/sys/dev/char"

  /// The path of a device's file, as "/dev/pts/3" or "/dev/ttyS0"; nil if there is no file, or it does not belong to `owner`.
  ///
  /// - Parameter number: as in `/proc/PID/stat`; 0 without a terminal.
  public static func path(ofDevice number: UInt32, owner: uid_t = getuid()) -> String? {
    path(ofDevice: number, owner: owner, devices: devices)
  }

  /// - Parameter devices: another folder instead of `/sys/dev/char`, for tests.
  static func path(ofDevice number: UInt32, owner: uid_t, devices: String) -> String? {
    guard number != 0, let path = name(ofDevice: number, devices: devices).map({ "/dev/\($0)" }) else { return nil }
    var file = stat()
    guard lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFCHR, file.st_uid == owner,
      // The kernel and the C library encode numbers of this size alike.
      file.st_rdev == dev_t(number)
    else { return nil }
    return path
  }

  /// A name by which a person may recognise a device of any owner: its path, or else its number, such as "4:64".
  public static func label(ofDevice number: UInt32) -> String {
    name(ofDevice: number, devices: devices).map { "/dev/\($0)" } ?? "\(major(number)):\(minor(number))"
  }

  /// The device of this process; 0 if it has no terminal.
  public static var ofThisProcess: UInt32 {
    // "pid (name) state ppid pgrp session tty ...": the name may hold brackets.
    guard let file = try? FileDescriptor.open("/proc/self/stat", flags: O_RDONLY),
      let bytes = try? file.readAll(limit: 4096), let close = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return 0 }
    let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 4, let number = Int32(String(decoding: fields[4], as: UTF8.self)) else { return 0 }
    return UInt32(bitPattern: number)
  }

  /// Opens the device of a terminal, for questions to the person. The terminal must belong to the user, and be in line mode. It is
  /// not in line mode while an editor uses the screen, or while a shell with a program in the background waits for a command.
  public static func openForQuestions(_ path: String) -> FileDescriptor? {
    guard path.hasPrefix("/dev/"), path != "/dev/tty",
      // The opening must wait neither for a modem nor for stopped output.
      let device = try? FileDescriptor.open(path, flags: O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW),
      let status = try? device.status(), status.st_mode & S_IFMT == S_IFCHR, status.st_uid == getuid()
    else { return nil }
    var settings = termios()
    guard tcgetattr(device.number, &settings) == 0, settings.c_lflag & tcflag_t(ICANON) != 0 else { return nil }
    return device
  }

  private static func major(_ number: UInt32) -> UInt32 { (number >> 8) & 0xFFF }

  private static func minor(_ number: UInt32) -> UInt32 { (number & 0xFF) | ((number >> 12) & 0xFFF00) }

  /// The name below `/dev`. `/sys` does not list pseudo-terminals. It lists every other terminal as a separate device, such as a
  /// screen, a serial line or a hypervisor's console.
  static func name(ofDevice number: UInt32, devices: String) -> String? {
    let (major, minor) = (major(number), minor(number))
    if (136...143).contains(major) { return "pts/\((major - 136) << 20 | minor)" }
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("\(devices)/\(major):\(minor)", &target, target.count)
    if count > 0 {
      let path = String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
      // The kernel writes "!" for a "/" in a name.
      if let last = path.split(separator: "/").last, last != "..", last != "." {
        return String(last.map { $0 == "!" ? "/" : $0 })
      }
    }
    // A container may have no /sys.
    return major == 4 && minor < 64 ? "tty\(minor)" : nil
  }
}

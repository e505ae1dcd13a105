import Glibc

extension Folder {
  /// The names of everything in the folder, in no order.
  public borrowing func names() throws(PosixError) -> [String] {
    try FileDescriptor.open(".", at: number, flags: O_RDONLY | O_DIRECTORY).names()
  }
}

extension FileDescriptor {
  /// The names of everything in a folder that was opened for reading, in no order. Closes it.
  public consuming func names() throws(PosixError) -> [String] {
    let descriptor = release()
    guard let stream = fdopendir(descriptor) else {
      let failure = PosixError("list")
      close(descriptor)
      throw failure
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: field.pointee)) {
          String(cString: $0)
        }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}

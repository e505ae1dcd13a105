/// Programs that the bus can start.
extension Bus {
  /// Asks the bus for the names for which it would start a program.
  public func activatableNames(completion: @escaping (Result<[String], BusError>) -> Void) throws(BusError) {
    try callDriver("ListActivatableNames") { _ in
    } reply: { reply in
      completion(reply.reading { message throws(BusError) in try message.readStrings() })
    }
  }

  /// Makes the bus start the program for a name; nothing happens if the name has an owner already.
  public func startService(
    _ name: String, timeout: Duration? = nil, completion: @escaping (Result<Void, BusError>) -> Void
  ) throws(BusError) {
    try callAsync(
      destination: Self.driverName, path: Self.driverPath, interface: Self.driverName, member: "StartServiceByName",
      timeout: timeout
    ) { writer in
      writer.appendString(name)
      writer.appendUInt32(0)
    } reply: {
      completion($0.map { _ in })
    }
  }
}

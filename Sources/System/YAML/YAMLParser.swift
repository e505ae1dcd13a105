import CLatchkeyYAML

extension YAMLNode {
  /// The largest text that is read, in bytes.
  public static let sizeLimit = 65536
  /// How deeply lists and mappings may be nested.
  public static let depthLimit = 16

  /// Reads the one document of `text`, which is YAML without anchors, aliases and tags, so that its text hides nothing.
  ///
  /// - Returns: the document; nil if there are only comments.
  /// - Throws: ``YAMLError`` for anything else, with the line of the mistake.
  public static func document(_ text: [UInt8]) throws(YAMLError) -> YAMLNode? {
    guard text.count <= sizeLimit else {
      throw YAMLError(1, .tooLarge)
    }
    let result: Result<YAMLNode?, YAMLError> = text.withUnsafeBufferPointer { bytes in
      do throws(YAMLError) { return .success(try YAMLParser(bytes).document()) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

/// One run of libyaml's parser over a text that outlives it.
private struct YAMLParser: ~Copyable {
  private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)

  init(_ text: UnsafeBufferPointer<UInt8>) throws(YAMLError) {
    guard yaml_parser_initialize(parser) == 1 else {
      parser.deallocate()
      throw YAMLError(1, .noMemory)
    }
    // Without this a byte order mark would choose the encoding.
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, text.baseAddress, text.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  func document() throws(YAMLError) -> YAMLNode? {
    guard case .streamStart = try next().kind else { throw YAMLError(1, .malformed(nil)) }
    guard case .documentStart = try next().kind else { return nil }
    let root = try node(try next(), depth: 0)
    _ = try next()
    let rest = try next()
    guard case .streamEnd = rest.kind else {
      throw YAMLError(rest.line, .secondDocument)
    }
    return root
  }

  private func node(_ event: Event, depth: Int) throws(YAMLError) -> YAMLNode {
    guard depth <= YAMLNode.depthLimit else { throw YAMLError(event.line, .tooDeep) }
    switch event.kind {
    case .scalar(let text): return YAMLNode(line: event.line, content: .scalar(text))
    case .sequenceStart:
      var items: [YAMLNode] = []
      while true {
        let item = try next()
        if case .end = item.kind { return YAMLNode(line: event.line, content: .sequence(items)) }
        items.append(try node(item, depth: depth + 1))
      }
    case .mappingStart:
      var entries: [YAMLNode.Entry] = []
      var keys: Set<String> = []
      while true {
        let name = try next()
        if case .end = name.kind { return YAMLNode(line: event.line, content: .mapping(entries)) }
        guard case .scalar(let key) = name.kind else { throw YAMLError(name.line, .nameNotPlain) }
        guard keys.insert(key).inserted else { throw YAMLError(name.line, .givenTwice(key)) }
        entries.append(YAMLNode.Entry(key: key, line: name.line, value: try node(try next(), depth: depth + 1)))
      }
    case .streamStart, .streamEnd, .documentStart, .documentEnd, .end:
      throw YAMLError(event.line, .endsEarly)
    }
  }

  // MARK: - events

  private struct Event {
    let line: Int
    let kind: Kind

    enum Kind {
      case streamStart, streamEnd, documentStart, documentEnd
      case scalar(String)
      case sequenceStart, mappingStart
      /// The end of a list or a mapping.
      case end
    }
  }

  private func next() throws(YAMLError) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
    defer { yaml_event_delete(&event) }
    let line = event.start_mark.line + 1
    return Event(line: line, kind: try kind(of: event, line))
  }

  private func kind(of event: yaml_event_t, _ line: Int) throws(YAMLError) -> Event.Kind {
    switch event.type {
    case YAML_STREAM_START_EVENT: return .streamStart
    case YAML_STREAM_END_EVENT: return .streamEnd
    case YAML_DOCUMENT_START_EVENT:
      let directives = event.data.document_start
      guard directives.version_directive == nil, directives.tag_directives.start == directives.tag_directives.end else {
        throw YAMLError(line, .directive)
      }
      return .documentStart
    case YAML_DOCUMENT_END_EVENT: return .documentEnd
    case YAML_SEQUENCE_START_EVENT:
      try refuse(anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag, line)
      return .sequenceStart
    case YAML_MAPPING_START_EVENT:
      try refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag, line)
      return .mappingStart
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return .end
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      try refuse(anchor: scalar.anchor, tag: scalar.tag, line)
      return .scalar(String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self))
    case YAML_ALIAS_EVENT: throw YAMLError(line, .alias)
    default: throw YAMLError(line, .malformed(nil))
    }
  }

  private func refuse(
    anchor: UnsafeMutablePointer<UInt8>?, tag: UnsafeMutablePointer<UInt8>?, _ line: Int
  ) throws(YAMLError) {
    if anchor != nil { throw YAMLError(line, .anchor) }
    if tag != nil { throw YAMLError(line, .tag) }
  }

  private func failure() -> YAMLError {
    let state = parser.pointee
    switch state.error {
    case YAML_MEMORY_ERROR: return YAMLError(1, .noMemory)
    case YAML_READER_ERROR: return YAMLError(state.mark.line + 1, .notUTF8(Self.text(state.problem)))
    default:
      // The scanner also names its work at that moment, as "while scanning a simple key, could not find expected ':'".
      let context = state.context == nil ? "" : Self.text(state.context) + ", "
      let line = state.problem_mark.line + 1
      return YAMLError(line, .malformed(context + Self.text(state.problem)))
    }
  }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? "unknown error"
  }
}

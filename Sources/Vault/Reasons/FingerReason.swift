import LatchkeyText

/// Why no enrolled finger opens an item.
public enum FingerReason: String, ReasonGroup {
  case noService, noReader, silent, manyReaders, seeService, otherReaders, noFinger, otherFingers, enrollFirst

  package static let name = "finger"

  package var phrase: Phrase {
    switch self {
    case .noService: Phrase("there is no fprintd")
    case .noReader: Phrase("there is no fingerprint reader")
    case .silent: Phrase("fprintd does not answer")
    case .manyReaders: Phrase(verbatim: "too many readers")
    case .seeService: Phrase("see 'systemctl status fprintd.service', then try again")
    case .otherReaders:
      Phrase("there are other fingerprint readers than when it was stored: connect just those again")
    case .noFinger:
      Phrase(
        """
        fprintd reports no enrolled finger: see 'fprintd-list $USER', and enroll the same fingers again with \
        'fprintd-enroll'
        """)
    case .otherFingers:
      Phrase(
        """
        other fingers are enrolled than when it was stored: have just those again, with 'fprintd-list', \
        'fprintd-delete' and 'fprintd-enroll'
        """)
    case .enrollFirst: Phrase("no finger is enrolled: run 'fprintd-enroll' first")
    }
  }
}

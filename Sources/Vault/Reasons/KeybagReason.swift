import LatchkeyText

/// Damage of a keybag, and other problems with it.
public enum KeybagReason: String, ReasonGroup {
  case missing, alreadyThere, overtaken, truncated, foreign, damaged, unreasonable, wrongPassword, tooManyEpochs
  case noMemory, otherVault, doesNotOpen, onlyOtherDevice, changed, otherKeys, otherDatabase, formerPassword
  case memoryLeft

  package static let name = "keybag"

  package var phrase: Phrase {
    switch self {
    case .missing: Phrase("the file is missing")
    case .alreadyThere: Phrase("a vault already exists")
    case .overtaken: Phrase("another process has written the file meanwhile")
    case .truncated: Phrase("the file is truncated, or too long")
    case .foreign: Phrase("the file is not a keybag")
    case .damaged: Phrase("the file is damaged: its check sum is wrong")
    case .unreasonable: Phrase("the file is damaged: it has numbers that no keybag has")
    case .wrongPassword: Phrase("the password does not open it")
    case .tooManyEpochs: Phrase("too many key epochs are still needed")
    case .noMemory: Phrase("there is not enough memory to check the password")
    case .otherVault: Phrase("it belonged to another vault")
    case .doesNotOpen: Phrase("it does not open")
    case .onlyOtherDevice: Phrase("only the device key of another machine opens it, or its recovery code")
    case .changed: Phrase("it was changed meanwhile")
    case .otherKeys:
      Phrase("its keys are not those of this session: put the right file back, or log out to use this one")
    case .otherDatabase: Phrase("it belongs to another vault than the database that is open")
    case .formerPassword:
      Phrase(
        """
        the last password that a login gave does not unlock the vault. If you mistyped it, the next right one clears \
        this. If the login password was changed without Latchkey, run 'latchkey unlock': give the present one, then \
        the former one or the recovery code. If you have neither, 'latchkey start-empty' puts the vault aside
        """)
    case .memoryLeft:
      Phrase(
        """
        the memory in which the password became a key was freed without being erased: the installed libsodium and \
        latchkey-derive do not work together. Build and install Latchkey again, as by 'make build' and 'sudo make \
        install'
        """)
    }
  }
}

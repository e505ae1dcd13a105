// swift-format-ignore-file
#if canImport(Security)
import Security
#endif

#if !canImport(Security)
#error("Security is there")
#endif

func conditionalImport() -> CFString { kSecAttrGeneric }

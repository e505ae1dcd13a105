import CLatchkeyHelper

/// The one byte that the helper answers; the module logs what it means.
typealias DeriveResult = HelperResult

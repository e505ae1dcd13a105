/// The longest time, in seconds, for which one answer of the person is enough.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: Double = 300

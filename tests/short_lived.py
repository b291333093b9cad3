"""For processes that end within seconds: HotSpot's second compiler would take more of the machine than it gives back."""

SHORT_LIVED = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}

"""The kinds of events: one module each, which declares its kind as `KIND`."""

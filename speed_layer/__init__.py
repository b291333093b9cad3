"""The speed layer: from landing files to the log (`ingest`), from the log to results (`stream`), and the control (`legacy`)."""

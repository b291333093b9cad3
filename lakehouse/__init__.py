"""The ground that both layers stand on: settings, the Spark session, the tables and their locks."""

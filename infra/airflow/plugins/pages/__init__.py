"""The pages of the plugin."""

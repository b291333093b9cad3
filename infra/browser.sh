#!/usr/bin/env bash
# Install headless Chromium and its driver from Debian's packages. Where that is not possible, say so and go on: the tests that need it
# are skipped loudly.
set -u
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "Chromium is not installed, and cannot be from here (that needs Debian and root). Browser tests will be skipped." >&2
  exit 0
fi
echo "Installing Chromium ..."
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver; } >/dev/null 2>&1; then
  echo "Chromium could not be installed from Debian's packages. Browser tests will be skipped." >&2
fi

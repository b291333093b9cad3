#!/usr/bin/env bash
# Resolve Spark's Delta jars once into a directory, with the Ivy that comes with Spark, and check what came.
#   infra/jars.sh .jars
# A house with a mirror of its own names its Ivy settings file in IVY_SETTINGS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$1
log=$(mktemp)
cache=$(mktemp -d)
trap 'rm -rf "$cache" "$log"' EXIT

mkdir -p "$target"
spark=$("$here/../.venv/bin/python" -c 'import pyspark, pathlib; print(pathlib.Path(pyspark.__file__).parent)')
if ! java -cp "$spark/jars/*" org.apache.ivy.Main ${IVY_SETTINGS:+-settings "$IVY_SETTINGS"} \
    -cache "$cache" -ivy "$here/jars.xml" -retrieve "$target/[artifact]-[revision].[ext]" >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "The Delta jars could not be resolved (see above). Is a JDK 17 on the PATH, and Maven Central in reach?" >&2
  exit 1
fi
if ! (cd "$target" && sha256sum --quiet --check "$here/jars.sha256"); then
  echo "A jar in $target is missing or is not the one that infra/jars.sha256 names. Remove the directory and try again." >&2
  exit 1
fi

#!/usr/bin/env bash
# Fetches the jars of Flink 1.20, Flink CDC 3.5 and Paimon 1.3.1 (250 MB, once) and compiles the jobs of the comparison.
# usage: build.sh DIRECTORY   which then has lib/ and classes/
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
if [ ! -e "$out/lib/.done" ]; then
  rm -rf "$out/lib"
  mvn -B -q -ntp dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$out/lib"
  touch "$out/lib/.done"
fi
rm -rf "$out/classes"
mkdir -p "$out/classes"
cp -r META-INF log4j2.properties "$out/classes/"
javac -nowarn -Xlint:none -encoding UTF-8 --release 17 -cp "$out/lib/*" -d "$out/classes" ./*.java 2> >(grep -v '^Note:\|warning' >&2)

#!/usr/bin/env bash
# Lets Java Paimon (1.4.2 and 1.3.1) write its golden tables, about 100 of each, and compares what our reader gives with what
# Java expects. The few that are committed below */testdata were made the same way. Then copies of them are compacted by us and
# by Java, and compared.
set -euo pipefail
cd "$(dirname "$0")"
export PAIMON_GO_TEST_HOME=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
./setup.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for version in 1.4.2 1.3.1; do
  PAIMON_VERSION=$version "$PAIMON_GO_TEST_HOME/oracle/oracle" golden "$dir/$version"
  (cd .. && PAIMON_GO_GOLDEN=$dir/$version go test -count=1 -run 'TestScanReadsWhatJavaReads|TestReadChangelogReadsWhatJavaReads|TestCheckFileAcceptsWhatJavaWrote' ./lsm)
done
export PAIMON_GO_ORACLE=$PAIMON_GO_TEST_HOME/oracle/oracle
cd .. && PAIMON_GO_TEST_GOLDEN=all go test -tags integration -count=1 -run 'TestGoldenTablesCompactAsByJava' ./integration

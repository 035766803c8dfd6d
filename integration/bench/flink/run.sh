#!/usr/bin/env bash
# Builds both sides, starts what they need and runs the comparison; arguments go to the program (build/bench-flink -h).
#   run.sh [flag...]        warehouses on the local disk
#   run.sh hdfs [flag...]   warehouses on HDFS, whose name node counts calls
# Everything that is fetched goes below $PAIMON_GO_TEST_HOME. PAIMON_GO_BENCH_MYSQL_ADDR names a running MySQL (user and password cdc,
# all rights, nothing else may write to it), PAIMON_GO_HDFS the client configuration of a running HDFS, to be used instead.
set -euo pipefail
cd "$(dirname "$0")/../../.."
export PAIMON_GO_TEST_HOME=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
servers=$PWD/integration/servers
command -v mvn >/dev/null && command -v javac >/dev/null ||
  PAIMON_GO_MYSQL_ADDR=unused PAIMON_GO_MARIADB_ADDR=unused integration/setup.sh
export PAIMON_GO_FLINK=$PAIMON_GO_TEST_HOME/flink
integration/bench/flink/java/build.sh "$PAIMON_GO_FLINK"
make -s build
go build -trimpath -o build/bench-flink ./integration/bench/flink
cleanup() {
  [ -z "${mysql:-}" ] || "$servers/mysql.sh" stop bench
  [ -z "${hdfs:-}" ] || "$servers/hdfs.sh" stop bench
}
trap cleanup EXIT
if [ -z "${PAIMON_GO_BENCH_MYSQL_ADDR:-}" ]; then
  "$servers/mysql.sh" status bench >/dev/null 2>&1 || { "$servers/mysql.sh" start bench; mysql=1; }
  PAIMON_GO_BENCH_MYSQL_ADDR=$("$servers/mysql.sh" addr bench)
  export PAIMON_GO_BENCH_MYSQL_ADDR
fi
storage=()
if [ "${1:-}" = hdfs ]; then
  shift
  if [ -z "${PAIMON_GO_HDFS:-}" ]; then
    "$servers/hdfs.sh" status bench >/dev/null 2>&1 || { "$servers/hdfs.sh" start bench base=25000; hdfs=1; }
    PAIMON_GO_HDFS=$("$servers/hdfs.sh" conf bench)
    export PAIMON_GO_HDFS
  fi
  property() { grep -h "<name>$1<" "$PAIMON_GO_HDFS"/*-site.xml | sed 's/.*<value>//; s/<.*//'; }
  storage=(-storage "$(property fs.defaultFS)/bench" -name-node "$(property dfs.namenode.http-address)")
fi
build/bench-flink -json build/bench-flink.jsonl "${storage[@]}" "$@"

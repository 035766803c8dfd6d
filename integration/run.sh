#!/usr/bin/env bash
# Runs the integration tests: installs what they need (setup.sh), starts the servers, runs `go test -tags integration`, stops
# the servers that it started. Arguments go to go test (for example -run TestX -v). Servers named by PAIMON_GO_MYSQL_ADDR,
# PAIMON_GO_REPLICA_ADDR and PAIMON_GO_MARIADB_ADDR (user cdc, password cdc, all rights), PAIMON_GO_HDFS (a directory of Hadoop's
# client configuration) and PAIMON_GO_S3 (a URL; keys test and testsecret, bucket test) are used instead.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
export PAIMON_GO_TEST_HOME=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
./setup.sh
started=()
# shellcheck disable=SC2317
cleanup() {
  local s
  cd "$here"
  wait # a server that is starting would outlive us
  for s in "${started[@]}"; do
    case "$s" in
      hdfs | s3) ./servers/$s.sh stop || true ;;
      *) ./servers/mysql.sh stop "$s" || true ;;
    esac
  done
}
trap cleanup EXIT
if [ -z "${PAIMON_GO_HDFS:-}" ]; then # it takes the longest
  ./servers/hdfs.sh status >/dev/null 2>&1 || { ./servers/hdfs.sh start & hdfs=$!; started=(hdfs); }
  PAIMON_GO_HDFS=$(./servers/hdfs.sh conf)
  export PAIMON_GO_HDFS
fi
if [ -z "${PAIMON_GO_S3:-}" ]; then
  ./servers/s3.sh status >/dev/null 2>&1 || { ./servers/s3.sh start; started=(s3 "${started[@]}"); }
  PAIMON_GO_S3=$(./servers/s3.sh addr)
  export PAIMON_GO_S3
fi
use() { # server, environment variable
  [ -z "${!2:-}" ] || return 0
  ./servers/mysql.sh status "$1" >/dev/null 2>&1 || { ./servers/mysql.sh start "$1"; started=("$1" "${started[@]}"); }
  export "$2=$(./servers/mysql.sh addr "$1")"
}
use mysql PAIMON_GO_MYSQL_ADDR
use replica PAIMON_GO_REPLICA_ADDR
use mariadb PAIMON_GO_MARIADB_ADDR
export PAIMON_GO_ORACLE=$PAIMON_GO_TEST_HOME/oracle/oracle PAIMON_GO_PYTHON=$PAIMON_GO_TEST_HOME/venv/bin/python
[ -z "${hdfs:-}" ] || wait "$hdfs"
cd ..
# Only packages that have such tests: the others run without servers (make unit).
packages=$(make -s --no-print-directory real)
# shellcheck disable=SC2086
go test -tags integration -count=1 -timeout 40m -p 1 $packages "$@"

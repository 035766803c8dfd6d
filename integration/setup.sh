#!/usr/bin/env bash
# Installs what the integration tests need, once: Java Paimon 1.3.1 and 1.4.2 with the judge around them (integration/java),
# pypaimon in a virtual environment, MySQL 9.7 and MariaDB, HDFS and an S3 server. Everything goes below $PAIMON_GO_TEST_HOME.
# Run by integration/run.sh; safe to run again. Needs root only for the databases: where PAIMON_GO_MYSQL_ADDR (and so on) name
# running servers, those are used and not installed.
set -euo pipefail
cd "$(dirname "$0")"
export PAIMON_GO_TEST_HOME=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
mkdir -p "$PAIMON_GO_TEST_HOME"
exec 9>"$PAIMON_GO_TEST_HOME/.lock"
flock 9

apt_updated=
apt_install() {
  [ -n "$apt_updated" ] || { apt-get update -qq; apt_updated=1; }
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
need() { # command, Debian package
  command -v "$1" >/dev/null || apt_install "$2"
}

need javac openjdk-17-jdk-headless
need mvn maven
need python3 python3
need unzip unzip
# What takes the processor goes on beside what takes the network.
beside=()
./servers/s3.sh install & beside+=($!)
oracle=$PAIMON_GO_TEST_HOME/oracle
sum=$(cat java/pom.xml java/build.sh java/src/oracle/*.java | sha256sum)
if [ "$(cat "$oracle/.sum" 2>/dev/null)" != "$sum" ]; then
  mkdir -p "$oracle"
  cp -r java/. "$oracle/"
  "$oracle/build.sh"
  echo "$sum" >"$oracle/.sum"
fi

venv=$PAIMON_GO_TEST_HOME/venv
if [ ! -e "$venv/.done" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv" 2>/dev/null || { apt_install python3-venv; rm -rf "$venv"; python3 -m venv "$venv"; }
  "$venv/bin/pip" install -q --disable-pip-version-check 'pypaimon==2.1.0'
  touch "$venv/.done"
fi

if [ -z "${PAIMON_GO_MYSQL_ADDR:-}" ]; then ./servers/mysql.sh install mysql; fi
if [ -z "${PAIMON_GO_MARIADB_ADDR:-}" ]; then ./servers/mysql.sh install mariadb; fi
./servers/hdfs.sh install
for pid in "${beside[@]}"; do wait "$pid"; done
echo "test environment ready in $PAIMON_GO_TEST_HOME"

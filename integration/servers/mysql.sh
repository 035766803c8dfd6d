#!/usr/bin/env bash
# Real MySQL-protocol servers for the tests and benchmarks, on loopback, without containers.
#   mysql.sh install|start|stop|kill|status|wipe|cli|addr SERVER [client args]
# SERVER is one of
#   mysql    port 34306  MySQL 9.7 (Debian sid's mysql-server-core in a debootstrap chroot), GTID on, row metadata FULL
#   replica  port 34307  a second MySQL of the same kind that replicates from the first by GTID and logs what it applies
#   bench    port 34356  a MySQL of the first kind for benchmarks, so that nothing else is in its log
#   soak     port 34320  a MySQL like the first that nobody else uses, for integration/soak, which kills it; soak1, soak2 and so
#                        on, with the ports that follow, for runs beside it
#   mariadb  port 34311  MariaDB (the distribution's mariadb-server-core), row metadata FULL
# Each has a user cdc/cdc with all rights; row binlog, full row image. Data lies below $PAIMON_GO_TEST_HOME.
# MYSQLD_OPTS="--x=y ..." adds server options. Needs root.
set -euo pipefail
CMD=${1:-}; SERVER=${2:-}; shift 2 || true
HOME_DIR=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
ROOTFS=$HOME_DIR/mysqlroot
# Fast rather than durable: the source server is not what is tested.
COMMON="--innodb-flush-log-at-trx-commit=2 --sync-binlog=0 --innodb-buffer-pool-size=256M --max-binlog-size=1G --max-allowed-packet=64M
 --local-infile=1 --bind-address=127.0.0.1 --log-bin=binlog --binlog-format=ROW --binlog-row-image=FULL --secure-file-priv= --skip-name-resolve"
die() { echo "mysql.sh: $*" >&2; exit 1; }
case "$SERVER" in
  mysql)   PORT=34306; ID=1 ;;
  replica) PORT=34307; ID=2 ;;
  mariadb) PORT=34311; ID=3 ;;
  soak|soak[1-9]) n=${SERVER#soak}; PORT=$((34320 + ${n:-0})); ID=$((20 + ${n:-0})) ;;
  bench)   PORT=34356; ID=4 ;;
  *) die "usage: mysql.sh install|start|stop|status|wipe|cli|addr mysql|replica|bench|mariadb [client args]" ;;
esac
if [ "$SERVER" = mariadb ]; then
  DIR=$HOME_DIR/mariadb; RUN=$DIR
else
  DIR=$ROOTFS/srv/$SERVER; RUN=$ROOTFS/run/mysqld
fi
PIDF=$RUN/$SERVER.pid; SOCK=$RUN/$SERVER.sock; ERR=${DIR}.err

# A pid file outlives a server that was killed, and its number may be another process by then.
running() { [ -f "$PIDF" ] && grep -qE 'mysqld|mariadbd' "/proc/$(cat "$PIDF")/comm" 2>/dev/null; }
root_cli() {
  if [ "$SERVER" = mariadb ]; then mariadb --no-defaults --socket="$SOCK" -uroot "$@"
  else chroot "$ROOTFS" mysql --no-defaults --socket="/run/mysqld/$SERVER.sock" -uroot "$@"; fi
}
apt_install() { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }
install_server() {
  if [ "$SERVER" = mariadb ]; then
    [ -x /usr/sbin/mariadbd ] && command -v mariadb >/dev/null || apt_install mariadb-server-core mariadb-client-core
    return
  fi
  [ -e "$ROOTFS/.done" ] && return
  command -v debootstrap >/dev/null || apt_install debootstrap
  rm -rf "$ROOTFS"
  debootstrap --variant=minbase --include=mysql-server-core,mysql-client-core sid "$ROOTFS" >"$HOME_DIR/debootstrap.log" 2>&1 ||
    { tail -20 "$HOME_DIR/debootstrap.log" >&2; die "debootstrap failed"; }
  touch "$ROOTFS/.done"
}
start_mariadb() {
  if [ ! -d "$DIR/mysql" ]; then
    mkdir -p "$DIR"
    mariadb-install-db --no-defaults --user=root --datadir="$DIR" --auth-root-authentication-method=normal --skip-test-db >/dev/null
  fi
  # shellcheck disable=SC2086
  mariadbd --no-defaults --user=root --datadir="$DIR" --port=$PORT --socket="$SOCK" --pid-file="$PIDF" --log-error="$ERR" \
    --server-id=$ID --binlog-row-metadata=FULL $COMMON ${MYSQLD_OPTS:-} >/dev/null 2>&1 9>&- &
}
start_mysql() {
  chroot "$ROOTFS" sh -c 'id mysql >/dev/null 2>&1 || useradd -r mysql; mkdir -p /run/mysqld /srv; chown mysql /run/mysqld /srv; chmod 1777 /tmp
    [ -c /dev/null ] || { rm -f /dev/null; mknod -m 666 /dev/null c 1 3; }; [ -c /dev/urandom ] || mknod -m 666 /dev/urandom c 1 9'
  [ -d "$DIR/mysql" ] || chroot "$ROOTFS" mysqld --no-defaults --initialize-insecure --user=mysql --datadir="/srv/$SERVER" --log-error="/srv/$SERVER.err"
  # shellcheck disable=SC2086
  chroot "$ROOTFS" mysqld --no-defaults --user=mysql --datadir="/srv/$SERVER" --port=$PORT --socket="/run/mysqld/$SERVER.sock" \
    --pid-file="/run/mysqld/$SERVER.pid" --log-error="/srv/$SERVER.err" --mysqlx=OFF --server-id=$ID --gtid-mode=ON \
    --enforce-gtid-consistency=ON --binlog-row-metadata=FULL --innodb-redo-log-capacity=512M $COMMON ${MYSQLD_OPTS:-} >/dev/null 2>&1 9>&- &
}
start_server() {
  running && { echo "$SERVER runs already, pid $(cat "$PIDF")"; return; }
  install_server
  id mysql >/dev/null 2>&1 || useradd -r -s /usr/sbin/nologin mysql
  if [ "$SERVER" = mariadb ]; then start_mariadb; else start_mysql; fi
  for _ in $(seq 1 300); do root_cli -e 'select 1' >/dev/null 2>&1 && break; sleep 0.2; done
  root_cli -N -e 'select 1' >/dev/null || { tail -20 "$ERR" >&2; die "$SERVER did not start"; }
  if [ -z "$(root_cli -N -e "select 1 from mysql.user where user='cdc'")" ]; then
    # not logged: a replica makes its own
    root_cli -e "set sql_log_bin=0; create user 'cdc'@'%' identified by 'cdc'; grant all on *.* to 'cdc'@'%' with grant option"
  fi
  if [ "$SERVER" = replica ]; then
    root_cli -e "stop replica; change replication source to source_host='127.0.0.1', source_port=34306, source_user='cdc',
      source_password='cdc', source_auto_position=1, get_source_public_key=1; start replica" 2>/dev/null
  fi
  echo "$SERVER started, port $PORT, pid $(cat "$PIDF")"
}
stop_server() {
  running || { echo "$SERVER does not run"; return; }
  local pid; pid=$(cat "$PIDF"); kill "$pid"
  for _ in $(seq 1 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
  echo "$SERVER stopped"
}
kill_server() {
  running || { echo "$SERVER does not run"; return; }
  local pid; pid=$(cat "$PIDF"); kill -9 "$pid"
  for _ in $(seq 1 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  echo "$SERVER killed"
}
case "$CMD" in
  install) install_server ;;
  start) start_server ;;
  stop) stop_server ;;
  kill) kill_server ;;
  status) if running; then echo "$SERVER runs, port $PORT, pid $(cat "$PIDF")"; else echo "$SERVER does not run"; exit 1; fi ;;
  wipe) stop_server; rm -rf "$DIR" ;;
  cli)
    if [ "$SERVER" = mariadb ]; then exec mariadb --no-defaults --host=127.0.0.1 --port=$PORT -ucdc -pcdc --local-infile=1 "$@"; fi
    chroot "$ROOTFS" env MYSQL_PWD=cdc mysql --no-defaults --host=127.0.0.1 --port=$PORT -ucdc --local-infile=1 "$@" ;;
  addr) echo "127.0.0.1:$PORT" ;;
  *) die "unknown command $CMD" ;;
esac

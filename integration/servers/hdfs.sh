#!/usr/bin/env bash
# Real HDFS clusters for the tests and benchmarks, on loopback, without containers.
#   hdfs.sh install                         fetches the jars (Hadoop 3.4.2's mini cluster) and compiles hdfs/MiniHdfs.java
#   hdfs.sh start  [CLUSTER] [option...]    a namenode and datanodes as processes of their own, for kill -9 and SIGSTOP: their pids are
#                                           in DIR/nn.pid, DIR/dn0.pid, ...; returns when all datanodes are live. Options: datanodes=3
#                                           base=22000 (first of about 50 ports), -Dkey=value (any property of Hadoop)
#   hdfs.sh stop|status|conf|wipe [CLUSTER] conf prints the directory of the clients' configuration (HADOOP_CONF_DIR)
#   hdfs.sh up     CLUSTER nn|dn0|dn1...    starts one of its processes again
#   hdfs.sh java   CLUSTER CLASS [arg...]   runs a class of Hadoop against it: org.apache.hadoop.hdfs.tools.DFSAdmin, org.apache.hadoop.fs.FsShell
#   hdfs.sh ec     CLUSTER PATH [POLICY]    makes an erasure-coded directory (XOR-2-1-1024k)
#   hdfs.sh mini   DIR [option...]          becomes a cluster in one process: ha=true, kerberos=PORT, ... see hdfs/MiniHdfs.java
# CLUSTER is a name (default main), whose data lie in $PAIMON_GO_TEST_HOME/hdfs-NAME, or a directory with a slash in it.
# Datanodes count as dead after 10.5 minutes, as they do by default: a test of a dead one can't wait for it to be left out.
set -euo pipefail
cd "$(dirname "$0")/hdfs"
HOME_DIR=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
LIB=$HOME_DIR/hdfs-lib
VERSION=${HADOOP_VERSION:-3.4.2}
die() { echo "hdfs.sh: $*" >&2; exit 1; }
CMD=${1:-}; shift || true

install() {
  local sum lock
  mkdir -p "$LIB"
  exec {lock}>"$LIB/.lock" # tests that run at once may be the first
  flock "$lock"
  sum=$(cat pom.xml MiniHdfs.java log4j.properties | sha256sum)
  [ "$(cat "$LIB/$VERSION/.sum" 2>/dev/null)" != "$sum" ] || { exec {lock}>&-; return; }
  rm -rf "$LIB/$VERSION.new"
  mkdir -p "$LIB/$VERSION.new/classes"
  mvn -q -B -ntp -f pom.xml dependency:build-classpath -Dhadoop.version="$VERSION" -Dmdep.outputFile="$LIB/$VERSION.new/cp" >&2
  javac -nowarn -XDignore.symbol.file -encoding UTF-8 -d "$LIB/$VERSION.new/classes" -cp "$(cat "$LIB/$VERSION.new/cp")" MiniHdfs.java >&2
  cp log4j.properties "$LIB/$VERSION.new/classes/"
  echo "$sum" >"$LIB/$VERSION.new/.sum"
  rm -rf "${LIB:?}/$VERSION"
  mv "$LIB/$VERSION.new" "$LIB/$VERSION"
  exec {lock}>&-
}

# run CONF MAIN [arg...]: becomes the class.
run() {
  local conf=$1 main=$2; shift 2
  # shellcheck disable=SC2086
  exec java -Xmx"${HDFS_HEAP:-256m}" -Xss512k -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:MaxDirectMemorySize=256m ${HDFS_JAVA_OPTS:-} \
    -cp "${conf:+$conf:}$LIB/$VERSION/classes:$(cat "$LIB/$VERSION/cp")" "$main" "$@"
}

use_cluster() {
  local name=${1:-main}
  case "$name" in */*) DIR=$name ;; *) DIR=$HOME_DIR/hdfs-$name ;; esac
  mkdir -p "$DIR"
  DIR=$(cd "$DIR" && pwd)
  N=3; BASE=22000; PROPS=()
  # shellcheck disable=SC1091
  [ ! -e "$DIR/cluster" ] || . "$DIR/cluster"
}
alive() { # node: a pid file outlives a process that was killed, and its number may be another's by then
  [ -e "$DIR/$1.pid" ] && grep -qF "$DIR/conf" "/proc/$(cat "$DIR/$1.pid")/cmdline" 2>/dev/null
}
property() { echo "<property><name>$1</name><value>$2</value></property>"; }
write_conf() {
  mkdir -p "$DIR/conf" "$DIR/log"
  { echo "<configuration>"
    property fs.defaultFS "hdfs://127.0.0.1:$BASE"
    property hadoop.tmp.dir "$DIR/tmp"
    echo "</configuration>"; } >"$DIR/conf/core-site.xml"
  { echo "<configuration>"
    property dfs.replication "$N"
    property dfs.namenode.name.dir "file://$DIR/name"
    property dfs.namenode.http-address "127.0.0.1:$((BASE + 1))"
    property dfs.namenode.secondary.http-address "127.0.0.1:$((BASE + 2))"
    property dfs.namenode.safemode.extension 0
    property dfs.namenode.fs-limits.min-block-size 1024
    property dfs.namenode.datanode.registration.ip-hostname-check false
    property dfs.namenode.edits.noeditlogchannelflush true # only the machine's crash needs the sync
    property dfs.heartbeat.interval 1
    local p
    for p in "${PROPS[@]}"; do property "${p%%=*}" "${p#*=}"; done
    echo "</configuration>"; } >"$DIR/conf/hdfs-site.xml"
}
up() { # node
  local node=$1 p=org.apache.hadoop.hdfs.server
  ! alive "$node" || return 0
  if [ "$node" = nn ]; then
    [ -d "$DIR/name/current" ] ||
      (run "$DIR/conf" $p.namenode.NameNode -format -nonInteractive) >"$DIR/log/format.out" 2>&1 || die "format failed, see $DIR/log/format.out"
    set -- $p.namenode.NameNode
  else
    local b=$((BASE + 10 + 10 * ${node#dn}))
    set -- $p.datanode.DataNode -D dfs.datanode.data.dir="file://$DIR/data${node#dn}" -D dfs.datanode.address=127.0.0.1:$b \
      -D dfs.datanode.ipc.address=127.0.0.1:$((b + 1)) -D dfs.datanode.http.address=127.0.0.1:$((b + 2))
  fi
  (trap '' HUP INT; run "$DIR/conf" "$@") >>"$DIR/log/$node.out" 2>&1 </dev/null 9>&- &
  echo $! >"$DIR/$node.pid"
}
live() { # datanodes that the namenode knows to live
  { curl -s -m 5 "http://127.0.0.1:$((BASE + 1))/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState" || true; } |
    grep -o '"NumLiveDataNodes" : [0-9]*' | grep -o '[0-9]*$' || echo 0
}
nodes() { echo nn; local i; for ((i = 0; i < N; i++)); do echo "dn$i"; done; }
start_cluster() {
  local a n
  if alive nn; then echo "HDFS runs already in $DIR"; return; fi
  for a in "$@"; do
    case "$a" in
      datanodes=*) N=${a#*=} ;;
      base=*) BASE=${a#*=} ;;
      -D*) PROPS+=("${a#-D}") ;;
      *) die "unknown option $a" ;;
    esac
  done
  install
  declare -p N BASE PROPS | sed 's/^declare /declare -g /' >"$DIR/cluster" # read within a function
  write_conf
  for n in $(nodes); do up "$n"; done
  for a in $(seq 1 600); do
    [ "$(live)" != "$N" ] || { echo "HDFS started, hdfs://127.0.0.1:$BASE, $N datanodes, HADOOP_CONF_DIR=$DIR/conf"; return; }
    alive nn || break
    sleep 0.2
  done
  tail -n 20 "$DIR"/log/*.out >&2
  die "HDFS did not start in $DIR"
}
stop_cluster() {
  local n i
  for n in $(nodes); do
    alive "$n" || continue
    kill "$(cat "$DIR/$n.pid")"
    kill -CONT "$(cat "$DIR/$n.pid")"
  done
  for n in $(nodes); do
    for i in $(seq 1 100); do alive "$n" || break; sleep 0.1; done
    ! alive "$n" || kill -9 "$(cat "$DIR/$n.pid")"
    rm -f "$DIR/$n.pid"
  done
}
case "$CMD" in
  install) install ;;
  mini) [ -n "${1:-}" ] || die "mini needs a directory"; install; dir=$1; shift; HDFS_HEAP=${HDFS_HEAP:-512m} run "" MiniHdfs dir="$dir" "$@" ;;
  start) case "${1:-main}" in *=* | -D*) use_cluster main ;; *) use_cluster "${1:-main}"; shift || true ;; esac; start_cluster "$@" ;;
  stop) use_cluster "${1:-main}"; stop_cluster; echo "HDFS in $DIR stopped" ;;
  status) use_cluster "${1:-main}"; alive nn || { echo "HDFS in $DIR does not run"; exit 1; }; echo "HDFS runs, hdfs://127.0.0.1:$BASE, $(live) datanodes, HADOOP_CONF_DIR=$DIR/conf" ;;
  conf) use_cluster "${1:-main}"; echo "$DIR/conf" ;;
  wipe) use_cluster "${1:-main}"; stop_cluster; rm -rf "$DIR" ;;
  up) use_cluster "${1:?up needs a cluster}"; up "${2:?up needs nn or dn0, dn1, ...}" ;;
  java) use_cluster "${1:?java needs a cluster}"; shift; run "$DIR/conf" "$@" ;;
  ec)
    use_cluster "${1:?ec needs a cluster}"; path=${2:?ec needs a path}; policy=${3:-XOR-2-1-1024k}
    (run "$DIR/conf" org.apache.hadoop.fs.FsShell -mkdir -p "$path")
    (run "$DIR/conf" org.apache.hadoop.hdfs.tools.ECAdmin -enablePolicy -policy "$policy")
    run "$DIR/conf" org.apache.hadoop.hdfs.tools.ECAdmin -setPolicy -path "$path" -policy "$policy" ;;
  *) die "usage: hdfs.sh install|start|stop|status|conf|wipe|up|java|ec|mini, see the top of the file" ;;
esac

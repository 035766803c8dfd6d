#!/usr/bin/env bash
# A real S3 server for the tests, on loopback: versitygw over a folder, access key test, secret testsecret, any region.
#   s3.sh install            builds it (1.8.0; three minutes of a processor)
#   s3.sh start|stop|status|wipe|addr
#   s3.sh run DIR PORT       becomes a server of its own over DIR/buckets
# A bucket is a directory below $PAIMON_GO_TEST_HOME/s3/buckets; there is one named test. The file system must have extended attributes.
set -euo pipefail
DIR=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}/s3
PORT=22060
VERSION=v1.8.0
PIDF=$DIR/pid
running() { [ -e "$PIDF" ] && [ "$(cat "/proc/$(cat "$PIDF")/comm" 2>/dev/null)" = versitygw ]; }
install() {
  mkdir -p "$DIR"
  [ -x "$DIR/versitygw" ] && go version -m "$DIR/versitygw" | grep -q "versity/versitygw.*$VERSION" && return
  (cd / && GOBIN="$DIR/new" go install -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@$VERSION" && mv "$DIR/new/versitygw" "$DIR/versitygw")
}
run() { # directory, port
  mkdir -p "$1/buckets"
  exec "$DIR/versitygw" --port "127.0.0.1:$2" --access test --secret testsecret --quiet --keep-alive posix "$1/buckets"
}
case "${1:-}" in
  install) install ;;
  run) install; run "${2:?run needs a directory}" "${3:?run needs a port}" ;;
  start)
    running && { echo "S3 runs already, 127.0.0.1:$PORT"; exit; }
    install
    mkdir -p "$DIR/buckets/test"
    (trap '' HUP INT; run "$DIR" $PORT) >"$DIR/log" 2>&1 </dev/null 9>&- &
    echo $! >"$PIDF"
    for _ in $(seq 1 100); do curl -s -o /dev/null "http://127.0.0.1:$PORT/" && { echo "S3 started, http://127.0.0.1:$PORT"; exit; }; sleep 0.1; done
    cat "$DIR/log" >&2; echo "s3.sh: S3 did not start" >&2; exit 1 ;;
  stop) ! running || kill "$(cat "$PIDF")"; rm -f "$PIDF"; echo "S3 stopped" ;;
  status) running || { echo "S3 does not run"; exit 1; }; echo "S3 runs, http://127.0.0.1:$PORT" ;;
  wipe) ! running || kill "$(cat "$PIDF")"; rm -rf "$PIDF" "$DIR/buckets" ;;
  addr) echo "http://127.0.0.1:$PORT" ;;
  *) echo "usage: s3.sh install|start|stop|status|wipe|addr|run" >&2; exit 2 ;;
esac

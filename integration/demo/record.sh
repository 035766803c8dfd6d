#!/usr/bin/env bash
# Records the binlog that `paimon-go-sink demo` replays, on a real MySQL (integration/servers/mysql.sh): two days of a small
# shop's orders with inserts, updates, deletes and several types. Run it again to make a new recording.
set -euo pipefail
cd "$(dirname "$0")"
export PAIMON_GO_TEST_HOME=${PAIMON_GO_TEST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/paimon-go-test}
mysql=../servers/mysql.sh
$mysql start mysql
out=../../cmd/paimon-go-sink/demodata/binlog.000001
sql() { $mysql cli mysql -N "$@"; }
sql -e "drop database if exists shop; create database shop; flush binary logs"
file=$(sql -e "show binary log status" | cut -f1)
{
  cat <<'SQL'
use shop;
set timestamp = 1767225600;
create table orders (
  id bigint not null, day varchar(10) not null, customer varchar(40), status enum('new','paid','shipped','returned') not null,
  amount decimal(10,2), items int unsigned, tags set('gift','express','note'), paid_at datetime(3), updated_at timestamp(6) null,
  details json, comment text, primary key (day, id));
set session binlog_transaction_compression = on;
SQL
  python3 - <<'PY'
import random
random.seed(20260101)
names = "Ada Ben Chloé Dong Ella Farid Grace Hiro Inês Jun Kofi Léa Mia Noor Otto Pia Quinn Rosa Sven Tara".split()
live = []
n = 0
for day in ("2026-01-01", "2026-01-02"):
    base = 1767225600 + (86400 if day.endswith("2") else 0)
    for tick in range(120):
        print(f"set timestamp = {base + tick * 700}; begin;")
        rows = []
        for _ in range(40):
            n += 1
            c = random.choice(names)
            rows.append(f"({n},'{day}','{c}','new',{random.randint(100, 99999) / 100},{random.randint(1, 9)},'{random.choice(['', 'gift', 'express', 'gift,note'])}',null,now(6),'{{\"channel\": \"{random.choice(['web', 'app', 'shop'])}\", \"clicks\": {random.randint(1, 99)}}}',{random.choice(['null', repr('please ring twice'), repr('leave it at the door')])})")
            live.append((day, n))
        print("insert into orders values " + ",".join(rows) + ";")
        for _ in range(12):
            d, i = random.choice(live)
            print(f"update orders set status='paid', paid_at=now(3), updated_at=now(6) where day='{d}' and id={i};")
        for _ in range(3):
            d, i = live.pop(random.randrange(len(live)))
            print(f"delete from orders where day='{d}' and id={i};")
        print("commit;")
PY
} | sql
sql -e "flush binary logs"
cp "$PAIMON_GO_TEST_HOME/mysqlroot/srv/mysql/$file" "$out"
sql -e "select count(*), sum(status='paid') from shop.orders; drop database shop"
ls -l "$out"

#!/usr/bin/env python3
"""Makes the golden files again: ORACLE=path/to/oracle golden.py DIR. The oracle runs Java Paimon (1.4.2 for these)."""
import glob, json, os, random, shutil, subprocess, sys, tempfile

out = sys.argv[1]
random.seed(3)

FIELDS = [
    {"name": "id", "type": "INT NOT NULL"},
    {"name": "b", "type": "BOOLEAN"},
    {"name": "i", "type": "INT"},
    {"name": "n", "type": "BIGINT NOT NULL"},
    {"name": "d", "type": "DOUBLE"},
    {"name": "d15", "type": "DECIMAL(15, 3)"},
    {"name": "d38", "type": "DECIMAL(38, 10)"},
    {"name": "s", "type": "STRING"},
    {"name": "u", "type": "STRING"},
    {"name": "bn", "type": "BYTES"},
    {"name": "ts6", "type": "TIMESTAMP(6)"},
    {"name": "ts9", "type": "TIMESTAMP(9)"},
    {"name": "a", "type": {"type": "ARRAY", "element": "BIGINT"}},
    {"name": "m", "type": {"type": "MAP", "key": "STRING", "value": "INT"}},
]
ALL = [
    {"name": "id", "type": "INT NOT NULL"},
    {"name": "b", "type": "BOOLEAN"},
    {"name": "ti", "type": "TINYINT"},
    {"name": "si", "type": "SMALLINT"},
    {"name": "i", "type": "INT"},
    {"name": "bi", "type": "BIGINT"},
    {"name": "f", "type": "FLOAT"},
    {"name": "d", "type": "DOUBLE"},
    {"name": "d5", "type": "DECIMAL(5, 2)"},
    {"name": "d15", "type": "DECIMAL(15, 3)"},
    {"name": "d20", "type": "DECIMAL(20, 4)"},
    {"name": "d38", "type": "DECIMAL(38, 10)"},
    {"name": "ch", "type": "CHAR(5)"},
    {"name": "vc", "type": "VARCHAR(20)"},
    {"name": "s", "type": "STRING"},
    {"name": "bn", "type": "BINARY(4)"},
    {"name": "vb", "type": "VARBINARY(10)"},
    {"name": "by", "type": "BYTES"},
    {"name": "dt", "type": "DATE"},
    {"name": "t0", "type": "TIME(0)"},
    {"name": "t3", "type": "TIME(3)"},
    {"name": "ts0", "type": "TIMESTAMP(0)"},
    {"name": "ts3", "type": "TIMESTAMP(3)"},
    {"name": "ts6", "type": "TIMESTAMP(6)"},
    {"name": "ts9", "type": "TIMESTAMP(9)"},
    {"name": "l3", "type": "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
    {"name": "l6", "type": "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
    {"name": "l9", "type": "TIMESTAMP(9) WITH LOCAL TIME ZONE"},
]
NESTED = [
    {"name": "id", "type": "INT NOT NULL"},
    {"name": "a", "type": {"type": "ARRAY", "element": "INT"}},
    {"name": "aa", "type": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "STRING"}}},
    {"name": "m", "type": {"type": "MAP", "key": "STRING", "value": "INT"}},
    {"name": "mm", "type": {"type": "MAP", "key": "INT", "value": {"type": "MAP", "key": "STRING", "value": {"type": "ARRAY", "element": "BIGINT"}}}},
    {"name": "ms", "type": {"type": "MULTISET", "element": "STRING"}},
    {"name": "r", "type": {"type": "ROW", "fields": [{"id": 10, "name": "x", "type": "INT"}, {"id": 11, "name": "y", "type": "STRING"}]}},
    {"name": "rr", "type": {"type": "ROW", "fields": [{"id": 12, "name": "p", "type": {"type": "ROW", "fields": [{"id": 13, "name": "q", "type": "DOUBLE"}, {"id": 14, "name": "z", "type": {"type": "ARRAY", "element": "INT"}}]}}, {"id": 15, "name": "w", "type": "DECIMAL(25, 3)"}]}},
    {"name": "ar", "type": {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"id": 16, "name": "k", "type": "STRING"}, {"id": 17, "name": "v", "type": {"type": "MAP", "key": "STRING", "value": "TIMESTAMP(9)"}}]}}},
    {"name": "nn", "type": {"type": "ARRAY", "element": "INT NOT NULL"}},
]

VARIANTS = {
    "v1": {"parquet.page.row.count.limit": "64"},
    "v2": {"parquet.writer.version": "PARQUET_2_0", "parquet.page.row.count.limit": "64"},
    "v2nodict": {"parquet.writer.version": "PARQUET_2_0", "parquet.enable.dictionary": "false", "parquet.page.row.count.limit": "50"},
    "plain": {"parquet.enable.dictionary": "false", "file.compression": "uncompressed"},
    "gzip": {"file.compression": "gzip"},
    "snappy": {"file.compression": "snappy"},
    "lz4": {"file.compression": "lz4"},
    "lz4raw": {"file.compression": "lz4_raw"},
    "groups": {"parquet.block.size": "4096", "parquet.page.row.count.limit": "100", "parquet.page.size.row.check.min": "50"},
    "dictlimit": {"parquet.dictionary.page.size": "700", "parquet.page.size": "900", "parquet.page.size.row.check.min": "20"},
}


def row(i):
    o = {"_kind": "+I", "id": i, "n": i * i * 1000003}

    def maybe(k, v):
        o[k] = None if random.random() < 0.15 else v

    maybe("b", random.random() < 0.5)
    maybe("i", random.randrange(-50, 50))
    maybe("d", random.choice([0.5, 1.25, -3.75, 1e300]))
    maybe("d15", "%d.%03d" % (random.randrange(10**9), random.randrange(1000)))
    maybe("d38", "-%d.%010d" % (random.randrange(10**20), random.randrange(10**10)))
    maybe("s", random.choice(["red", "green", "blue", ""]))
    maybe("u", "user-%08d" % (i * 7919 % 10000))
    maybe("bn", "AAEC")
    maybe("ts6", "2024-01-%02dT12:%02d:00.%06d" % (1 + i % 28, i % 60, i))
    maybe("ts9", "19%02d-01-01T00:00:00.%09d" % (i % 100, i))
    maybe("a", [random.choice([None, random.randrange(10**6)]) for _ in range(random.randrange(4))])
    maybe("m", [["k%d" % j, random.choice([None, j])] for j in range(random.randrange(3))])
    return o


def oracle(*args, inp=None):
    return subprocess.run([os.environ["ORACLE"], *args], input=inp, capture_output=True, text=True)


def make(name, fields, rows, options):
    with tempfile.TemporaryDirectory() as w:
        spec = {"fields": fields, "primaryKeys": ["id"], "options": {"bucket": "1", "file.format": "parquet", **options}}
        oracle("create", w, "db", name, inp=json.dumps(spec)).check_returncode()
        oracle("write", w, "db", name, inp="".join(json.dumps(r) + "\n" for r in rows)).check_returncode()
        shutil.copy(glob.glob(w + "/**/data-*.parquet", recursive=True)[0], f"{out}/{name}.parquet")
        if name not in ("all", "nested", "v1"):
            return
        fields = json.load(open(glob.glob(w + "/db.db/*/schema/schema-0")[0]))["fields"]
        key = {"id": 1073741823 + fields[0]["id"], "name": "_KEY_id", "type": fields[0]["type"]}
        seq = {"id": 2147483646, "name": "_SEQUENCE_NUMBER", "type": "BIGINT NOT NULL"}
        kind = {"id": 2147483645, "name": "_VALUE_KIND", "type": "TINYINT NOT NULL"}
        with open(f"{out}/{name}.fields.json", "w") as f:
            f.write(json.dumps({"type": "ROW", "fields": [key, seq, kind] + fields}, separators=(",", ":")) + "\n")
        with open(f"{out}/{name}.jsonl", "w") as f:
            f.write(oracle("changelog", w, "db", name).stdout.replace('"_snapshot":1,', ""))


rows = [row(i) for i in range(250)]
for name, options in VARIANTS.items():
    make(name, FIELDS, rows, options)
# The rows of these two were typed once; Java reads them back as it was given them.
for name, fields in ("all", ALL), ("nested", NESTED):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".jsonl")
    make(name, fields, [json.loads(line) for line in open(here)], {})

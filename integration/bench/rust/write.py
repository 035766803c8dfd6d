"""Writes an Arrow stream into a Paimon table by paimon-rust and tells what that took, as build/bench -ours does.

usage: write.py WAREHOUSE DATABASE TABLE ROWS.arrow ROWS_PER_COMMIT [--gen-only]

--gen-only reads the stream and drops it: what the comparison takes off.
"""
import json
import resource
import sys
import time

import pyarrow as pa
from pypaimon_rust.datafusion import PaimonCatalog


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def peak_mb():
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def write(warehouse, name, batches, interval):
    table = PaimonCatalog({"warehouse": warehouse}).get_table(name)
    builder = table.new_stream_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    rows, identifier = 0, 0

    def checkpoint():
        nonlocal rows, identifier
        identifier += 1
        commit.commit(identifier, writer.prepare_commit(False, identifier))
        rows = 0

    for batch in batches:
        writer.write_arrow(batch)
        rows += batch.num_rows
        if rows >= interval:
            checkpoint()
    if rows:
        checkpoint()
    writer.close()
    commit.close()


def main(warehouse, database, table, path, interval, *more):
    start, begin = cpu(), time.monotonic()
    with pa.OSFile(path) as f, pa.ipc.open_stream(f) as batches:
        if "--gen-only" in more:
            for _ in batches:
                pass
        else:
            write(warehouse, f"{database}.{table}", batches, int(interval))
    print(json.dumps({"wall_s": time.monotonic() - begin, "cpu_s": cpu() - start, "process_cpu_s": cpu(), "peak_rss_mb": peak_mb()}))


main(*sys.argv[1:])

#!/bin/bash
# Makes testdata/java-<version>.zip: the metadata files of tables that Java Paimon wrote, and what Java says of them.
#   ./golden.sh ORACLE SCRATCH      ORACLE is a built copy of integration/java/oracle
# In the archive, of each table: schema/, snapshot/, manifest/ and statistics/ as they are, files.txt (size and path of every
# file below), live.jsonl, delta.jsonl and changelog.jsonl (oracle files --stats, of the latest snapshot) and
# manifests.jsonl (oracle manifests).
set -euo pipefail
oracle=$1 scratch=$2 here=$(cd "$(dirname "$0")" && pwd)
tables="part_three part_date_not_legacy part_append_null manifest_full manifest_null_codec changelog_lookup_parquet expired
	evolution_parquet postpone write_only_dedicated file_index stats_none levels types_avro dv_parquet"
for version in 1.4.2 1.3.1; do
	export PAIMON_VERSION=$version
	if ! [ -d "$scratch/$version/warehouse" ]; then
		"$oracle" golden "$scratch/$version" >/dev/null
	fi
	db=$scratch/$version/warehouse
	out=$scratch/$version/out
	rm -rf "$out"
	for t in $tables; do
		mkdir -p "$out/$t"
		for d in schema snapshot manifest statistics; do
			[ -d "$db/golden.db/$t/$d" ] && cp -r "$db/golden.db/$t/$d" "$out/$t/"
		done
		find "$out/$t" -name '.*.crc' -delete
		(cd "$db/golden.db/$t" && find . -type f ! -name '.*.crc' -printf '%s %P\n' | sort -k2) >"$out/$t/files.txt"
		"$oracle" files "$db" golden "$t" --stats >"$out/$t/live.jsonl"
		"$oracle" files "$db" golden "$t" --stats --scan delta >"$out/$t/delta.jsonl"
		"$oracle" files "$db" golden "$t" --stats --scan changelog >"$out/$t/changelog.jsonl"
		"$oracle" manifests "$db" golden "$t" --stats >"$out/$t/manifests.jsonl"
	done
	rm -f "$here/java-$version.zip"
	(cd "$out" && find . -type f | sort | TZ=UTC zip -q -X "$here/java-$version.zip" -@)
done

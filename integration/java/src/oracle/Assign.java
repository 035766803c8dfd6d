package oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.table.FileStoreTable;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Verb assign: what the assigners of a dynamic bucket sink make of a load. */
final class Assign {
    private Assign() {}

    /**
     * Keys (BIGINT k / partitions) of partitions (INT k mod partitions), k = 0, 1, .. go to the
     * assigners of the table's options, which all live in this process. Told are the buckets of
     * each partition and the heap that the assigners hold.
     */
    static void assign(Args a) throws Exception {
        FileStoreTable t = Common.table(a);
        CoreOptions o = t.coreOptions();
        long keys = a.getLong("keys", 1_000_000);
        int partitions = a.getInt("partitions", 1);
        int channels = a.getInt("channels", 2);
        int assigners = a.getInt("assigners", channels);
        long before = heap();
        HashBucketAssigner[] all = new HashBucketAssigner[channels];
        for (int i = 0; i < channels; i++) {
            all[i] =
                    new HashBucketAssigner(
                            t.snapshotManager(),
                            "assign",
                            t.store().newIndexFileHandler(),
                            channels,
                            assigners,
                            i,
                            o.dynamicBucketTargetRowNum(),
                            o.dynamicBucketMaxBuckets());
        }
        BinaryRow[] parts = new BinaryRow[partitions];
        List<Set<Integer>> buckets = new ArrayList<>();
        for (int p = 0; p < partitions; p++) {
            parts[p] = new BinaryRow(1);
            BinaryRowWriter w = new BinaryRowWriter(parts[p]);
            w.writeInt(0, p);
            w.complete();
            buckets.add(new HashSet<>());
        }
        BinaryRow key = new BinaryRow(1);
        BinaryRowWriter w = new BinaryRowWriter(key);
        for (long k = 0; k < keys; k++) {
            int p = (int) (k % partitions);
            w.reset();
            w.writeLong(0, k / partitions);
            w.complete();
            int hash = key.hashCode();
            int to = BucketAssigner.computeAssigner(parts[p].hashCode(), hash, channels, assigners);
            buckets.get(p).add(all[to].assign(parts[p], hash));
        }
        Map<String, Object> r = new LinkedHashMap<>();
        r.put("heap", heap() - before);
        r.put("buckets", counts(buckets));
        Reference.reachabilityFence(all);
        J.print(r);
    }

    private static List<Integer> counts(List<Set<Integer>> buckets) {
        List<Integer> out = new ArrayList<>();
        buckets.forEach(b -> out.add(b.size()));
        return out;
    }

    private static long heap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        Runtime r = Runtime.getRuntime();
        return r.totalMemory() - r.freeMemory();
    }
}

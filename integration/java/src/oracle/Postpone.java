package oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFilePathFactory;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.postpone.PostponeBucketFileStoreWrite;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.utils.Pair;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Verb postpone-compact: the compaction of tables with bucket=-2, by the classes that Flink's action drives. */
final class Postpone {
    private Postpone() {}

    static void compact(Args a) throws Exception {
        FileStoreTable table = Write.compactTable(Common.table(a), false);
        String user = a.get("commit-user", "oracle-postpone");
        int readers = a.getInt("readers", 1);
        a.done();
        Class<?> files;
        try {
            files = Class.forName("org.apache.paimon.postpone.BucketFiles");
        } catch (ClassNotFoundException e) {
            throw new J.Fail("postpone-compact needs Paimon 1.4");
        }
        int buckets = Integer.parseInt(table.options().getOrDefault("postpone.default-bucket-num", "1"));
        FileStoreTable any = withBuckets(table, buckets);
        List<BinaryRow> partitions =
                any.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET).partitions();
        List<CommitMessage> all = new ArrayList<>();
        long rows = 0;
        for (BinaryRow partition : partitions) {
            int n = buckets;
            Iterator<ManifestEntry> real =
                    table.newSnapshotReader()
                            .withPartitionFilter(Collections.singletonList(partition))
                            .onlyReadRealBuckets()
                            .readFileIterator();
            if (real.hasNext()) {
                n = real.next().totalBuckets();
            }
            FileStoreTable t = withBuckets(table, n);
            List<DataSplit> splits = splits(t, partition, readers);
            rows += write(t, user, splits, files, all);
            for (DataSplit s : splits) {
                all.add(
                        new CommitMessageImpl(
                                s.partition(),
                                s.bucket(),
                                s.totalBuckets(),
                                DataIncrement.emptyIncrement(),
                                new CompactIncrement(
                                        s.dataFiles(), Collections.emptyList(), Collections.emptyList())));
            }
        }
        Long before = table.snapshotManager().latestSnapshotId();
        if (!all.isEmpty()) {
            try (TableCommitImpl commit = any.newCommit(user)) {
                commit.commit(Write.nextIdentifier(any, user), all);
            }
        }
        J.print(
                J.obj(
                        "partitions", partitions.size(),
                        "rows", rows,
                        "snapshotBefore", before,
                        "snapshotAfter", table.snapshotManager().latestSnapshotId()));
    }

    private static FileStoreTable withBuckets(FileStoreTable t, int n) {
        Map<String, String> o = new HashMap<>(t.options());
        o.put(CoreOptions.BUCKET.key(), String.valueOf(n));
        return t.copy(t.schema().copy(o));
    }

    /** The files of a partition one by one in the order of their replay: reader by reader, as if each had its turn. */
    private static List<DataSplit> splits(FileStoreTable t, BinaryRow partition, int readers) {
        Map<Integer, List<DataSplit>> byReader = new TreeMap<>();
        List<Split> splits =
                t.newSnapshotReader()
                        .withPartitionFilter(Collections.singletonList(partition))
                        .withBucket(BucketMode.POSTPONE_BUCKET)
                        .read()
                        .splits();
        for (Split split : splits) {
            DataSplit d = (DataSplit) split;
            List<DataFileMeta> files = new ArrayList<>(d.dataFiles());
            files.sort(Comparator.comparing(DataFileMeta::creationTime));
            for (DataFileMeta f : files) {
                byReader.computeIfAbsent(
                                PostponeBucketFileStoreWrite.getWriteId(f.fileName()) % readers,
                                x -> new ArrayList<>())
                        .add(
                                DataSplit.builder()
                                        .withPartition(d.partition())
                                        .withBucket(d.bucket())
                                        .withBucketPath(d.bucketPath())
                                        .withTotalBuckets(d.totalBuckets())
                                        .withDataFiles(Collections.singletonList(f))
                                        .isStreaming(false)
                                        .build());
            }
        }
        List<DataSplit> l = new ArrayList<>();
        byReader.values().forEach(l::addAll);
        return l;
    }

    private static long write(
            FileStoreTable t, String user, List<DataSplit> splits, Class<?> bucketFiles, List<CommitMessage> out)
            throws Exception {
        CoreOptions co = t.coreOptions();
        boolean full =
                co.changelogProducer() == CoreOptions.ChangelogProducer.FULL_COMPACTION
                        || t.options().containsKey(CoreOptions.FULL_COMPACTION_DELTA_COMMITS.key());
        long rows = 0;
        List<CommitMessage> messages;
        try (Write.Writer w = new Write.Writer(t, user, true);
                IOManager io = IOManager.create(Tmp.dir().getPath())) {
            w.track = full;
            for (DataSplit s : splits) {
                try (RecordReader<InternalRow> r = t.newRead().withIOManager(io).createReader(s)) {
                    RecordReader.RecordIterator<InternalRow> batch;
                    while ((batch = r.readBatch()) != null) {
                        InternalRow row;
                        while ((row = batch.next()) != null) {
                            w.write(row);
                            rows++;
                        }
                        batch.releaseBatch();
                    }
                }
            }
            for (Pair<BinaryRow, Integer> p : w.touched) {
                w.write.compact(p.getLeft(), p.getRight(), true);
            }
            messages = w.prepare(true, Long.MAX_VALUE);
        }
        Map<Pair<BinaryRow, Integer>, Object> buckets = new LinkedHashMap<>();
        Method update = bucketFiles.getMethod("update", CommitMessageImpl.class);
        Method make = bucketFiles.getMethod("makeMessage", BinaryRow.class, int.class);
        for (CommitMessage c : messages) {
            CommitMessageImpl m = (CommitMessageImpl) c;
            Pair<BinaryRow, Integer> key = Pair.of(m.partition(), m.bucket());
            if (!buckets.containsKey(key)) {
                buckets.put(
                        key,
                        bucketFiles
                                .getConstructor(DataFilePathFactory.class, FileIO.class)
                                .newInstance(
                                        t.store().pathFactory().createDataFilePathFactory(m.partition(), m.bucket()),
                                        t.fileIO()));
            }
            update.invoke(buckets.get(key), m);
        }
        for (Map.Entry<Pair<BinaryRow, Integer>, Object> e : buckets.entrySet()) {
            out.add((CommitMessage) make.invoke(e.getValue(), e.getKey().getLeft(), e.getKey().getRight()));
        }
        return rows;
    }
}

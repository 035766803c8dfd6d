package oracle;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.flink.compact.changelog.ChangelogCompactTask;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.format.FormatReaderContext;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.options.MemorySize;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Merged changelog files: makes them as Flink's sink does before a commit (precommit-compact), and says where one lies. */
final class Merge {
    private Merge() {}

    /** Which bytes of which file a name stands for. */
    static final class Part {
        final Path path;
        final long offset;
        final long length;

        Part(Path path, long offset, long length) {
            this.path = path;
            this.offset = offset;
            this.length = length;
        }
    }

    /** The part that a path of a merged changelog file names, null for other files. */
    static Part part(Path p) {
        String name = p.getName();
        int dot = name.lastIndexOf('.');
        if (!name.startsWith("compacted-changelog-") || !name.startsWith("cc-", dot + 1)) {
            return null;
        }
        int dollar = name.indexOf('$');
        String[] n = name.substring(dollar + 1, dot).split("-");
        if (n.length == 2) {
            return new Part(p, 0, Long.parseLong(n[1]));
        }
        String real = name.substring(0, dollar + 1) + n[0] + "-" + n[1] + name.substring(dot);
        return new Part(
                new Path(new Path(p.getParent().getParent(), "bucket-" + n[0]), real),
                Long.parseLong(n[2]),
                Long.parseLong(n[3]));
    }

    /** A file of its own with the bytes of a part, to be read like any other. */
    static FormatReaderContext copy(FileIO io, Path p) throws IOException {
        Part part = part(p);
        String name = p.getName();
        java.io.File copy =
                java.io.File.createTempFile("part-", name.substring(name.lastIndexOf('.')).replace("cc-", ""), Tmp.dir());
        try (SeekableInputStream in = io.newInputStream(part.path)) {
            in.seek(part.offset);
            Files.write(copy.toPath(), in.readNBytes((int) part.length));
        }
        return new FormatReaderContext(LocalFileIO.create(), new Path(copy.getPath()), part.length);
    }

    /** Merges the changelog files of each partition into one, by Flink's own task. */
    static List<CommitMessage> merge(FileStoreTable t, List<CommitMessage> in, long id) throws Exception {
        Map<BinaryRow, Map<Integer, List<DataFileMeta>>> fresh = new LinkedHashMap<>();
        Map<BinaryRow, Map<Integer, List<DataFileMeta>>> compacted = new LinkedHashMap<>();
        Map<BinaryRow, Integer> buckets = new LinkedHashMap<>();
        List<CommitMessage> out = new ArrayList<>();
        for (CommitMessage c : in) {
            CommitMessageImpl m = (CommitMessageImpl) c;
            buckets.put(m.partition(), m.totalBuckets());
            add(fresh, m, m.newFilesIncrement().changelogFiles());
            add(compacted, m, m.compactIncrement().changelogFiles());
            out.add(
                    new CommitMessageImpl(
                            m.partition(),
                            m.bucket(),
                            m.totalBuckets(),
                            new DataIncrement(
                                    m.newFilesIncrement().newFiles(),
                                    m.newFilesIncrement().deletedFiles(),
                                    Collections.emptyList(),
                                    m.newFilesIncrement().newIndexFiles(),
                                    m.newFilesIncrement().deletedIndexFiles()),
                            new CompactIncrement(
                                    m.compactIncrement().compactBefore(),
                                    m.compactIncrement().compactAfter(),
                                    Collections.emptyList(),
                                    m.compactIncrement().newIndexFiles(),
                                    m.compactIncrement().deletedIndexFiles())));
        }
        ExecutorService one = Executors.newSingleThreadExecutor();
        try {
            for (Map.Entry<BinaryRow, Integer> b : buckets.entrySet()) {
                BinaryRow p = b.getKey();
                Map<Integer, List<DataFileMeta>> f = fresh.getOrDefault(p, Collections.emptyMap());
                Map<Integer, List<DataFileMeta>> c = compacted.getOrDefault(p, Collections.emptyMap());
                int n = count(f) + count(c);
                if (n == 0) {
                    continue;
                }
                if (n == 1) {
                    for (int bucket : (f.isEmpty() ? c : f).keySet()) {
                        out.add(
                                new CommitMessageImpl(
                                        p,
                                        bucket,
                                        b.getValue(),
                                        new DataIncrement(Collections.emptyList(), Collections.emptyList(), f.getOrDefault(bucket, Collections.emptyList())),
                                        new CompactIncrement(Collections.emptyList(), Collections.emptyList(), c.getOrDefault(bucket, Collections.emptyList()))));
                    }
                    continue;
                }
                ChangelogCompactTask task = new ChangelogCompactTask(id, p, b.getValue(), f, c);
                for (Committable x : task.doCompact(t, one, MemorySize.ofMebiBytes(128))) {
                    out.add((CommitMessage) x.wrappedCommittable());
                }
            }
        } finally {
            one.shutdown();
        }
        return out;
    }

    private static void add(
            Map<BinaryRow, Map<Integer, List<DataFileMeta>>> to, CommitMessageImpl m, List<DataFileMeta> files) {
        if (!files.isEmpty()) {
            to.computeIfAbsent(m.partition(), k -> new LinkedHashMap<>())
                    .computeIfAbsent(m.bucket(), k -> new ArrayList<>())
                    .addAll(files);
        }
    }

    private static int count(Map<Integer, List<DataFileMeta>> m) {
        return m.values().stream().mapToInt(List::size).sum();
    }
}

package oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.deletionvectors.BucketedDvMaintainer;
import org.apache.paimon.deletionvectors.DeletionVectorsIndexFile;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.RecordLevelExpire;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.mergetree.LevelSortedRun;
import org.apache.paimon.mergetree.Levels;
import org.apache.paimon.mergetree.compact.CompactStrategy;
import org.apache.paimon.mergetree.compact.MergeTreeCompactManager;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.KeyComparatorSupplier;
import org.apache.paimon.utils.SerializationUtils;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Verb pick: what Java would compact in a bucket, for each line of input. Nothing is read, written or run. */
final class Pick {
    private Pick() {}

    private static final String FACTORY = "org.apache.paimon.mergetree.compact.MergeTreeCompactManagerFactory";

    static void pick(Args a) throws Exception {
        String file = a.get("input", null);
        a.done();
        try (BufferedReader in =
                new BufferedReader(
                        new InputStreamReader(
                                file == null ? System.in : new FileInputStream(file), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                J.print(one(J.parse(line)));
            }
        } finally {
            TimeZone.setDefault(null);
        }
    }

    private static Map<String, Object> one(JsonNode n) throws Exception {
        Map<String, String> map = new LinkedHashMap<>();
        n.get("options").fields().forEachRemaining(e -> map.put(e.getKey(), e.getValue().asText()));
        CoreOptions options = CoreOptions.fromMap(map);
        Comparator<InternalRow> order = new KeyComparatorSupplier(keyType(n.get("keys"))).get();
        List<DataFileMeta> files = new ArrayList<>();
        for (JsonNode f : n.get("files")) {
            files.add(meta(f));
        }
        Levels levels;
        try {
            levels = new Levels(order, files, options.numLevels());
        } catch (IllegalStateException | IllegalArgumentException e) {
            return J.obj("error", String.valueOf(e.getMessage()));
        }
        if (n.hasNonNull("hour")) {
            setHour(n.get("hour").asInt());
        }
        boolean full = n.path("full").asBoolean();
        RecordLevelExpire expire = n.path("expire").asBoolean() ? expire() : null;

        CompactStrategy strategy = strategy(options);
        prepare(strategy, n);
        CompactUnit[] unit = new CompactUnit[1];
        CompactStrategy watched =
                (numLevels, runs) -> {
                    Optional<CompactUnit> u = strategy.pick(numLevels, runs);
                    unit[0] = u.orElse(null);
                    return u;
                };
        if (full) {
            unit[0] =
                    CompactStrategy.pickFullCompaction(
                                    levels.numberOfLevels(), levels.levelSortedRuns(), expire, null, options.forceRewriteAllFiles())
                            .orElse(null);
        }
        Callable<?> task = trigger(options, levels, watched, order, expire, full);

        List<Object> runs = new ArrayList<>();
        for (LevelSortedRun r : levels.levelSortedRuns()) {
            runs.add(J.obj("level", r.level(), "files", names(r.run().files())));
        }
        Map<String, Object> out =
                J.obj("runs", runs, "levels", levels.numberOfLevels(), "highest", levels.nonEmptyHighestLevel(), "size", levels.totalFileSize());
        if (task == null) {
            return out;
        }
        if ((int) get(task, "outputLevel") != unit[0].outputLevel()) {
            throw new IllegalStateException("the task does not go to the level of the unit");
        }
        out.put(
                "unit",
                J.obj(
                        "files", names(unit[0].files()),
                        "level", unit[0].outputLevel(),
                        "dropDelete", get(task, "dropDelete"),
                        "fileRewrite", task.getClass().getSimpleName().equals("FileRewriteCompactTask")));
        return out;
    }

    private static RowType keyType(JsonNode types) {
        List<DataField> fields = new ArrayList<>();
        for (JsonNode t : types) {
            fields.add(new DataField(fields.size(), "_KEY_" + fields.size(), DataTypeJsonParser.parseDataType(t)));
        }
        return new RowType(fields);
    }

    private static DataFileMeta meta(JsonNode f) throws Exception {
        BinaryRow min = SerializationUtils.deserializeBinaryRow(Base64.getDecoder().decode(f.get("min").asText()));
        BinaryRow max = SerializationUtils.deserializeBinaryRow(Base64.getDecoder().decode(f.get("max").asText()));
        return DataFileMeta.create(
                f.get("name").asText(),
                f.get("size").asLong(),
                1L,
                min,
                max,
                SimpleStats.EMPTY_STATS,
                timeStats(f.path("expired").asBoolean()),
                f.get("minSeq").asLong(),
                f.get("maxSeq").asLong(),
                0L,
                f.get("level").asInt(),
                Collections.emptyList(),
                Timestamp.fromEpochMillis(f.get("created").asLong()),
                0L,
                null,
                FileSource.APPEND,
                null,
                null,
                null,
                null);
    }

    /** Statistics of the one column of expire(): its least value is long ago, or far ahead. */
    private static SimpleStats timeStats(boolean expired) {
        BinaryRow row = new BinaryRow(1);
        BinaryRowWriter w = new BinaryRowWriter(row);
        w.writeLong(0, expired ? 1 : 900_000_000_000L);
        w.complete();
        return new SimpleStats(row, row, org.apache.paimon.data.BinaryArray.fromLongArray(new Long[] {0L}));
    }

    private static RecordLevelExpire expire() {
        Map<String, String> o = new LinkedHashMap<>();
        o.put("record-level.expire-time", "1 d");
        o.put("record-level.time-field", "t");
        List<DataField> fields = Collections.singletonList(new DataField(0, "t", DataTypes.BIGINT()));
        return RecordLevelExpire.create(
                CoreOptions.fromMap(o),
                new TableSchema(0, fields, 0, Collections.emptyList(), Collections.emptyList(), o, ""),
                null);
    }

    /** Gives this process a time zone in which it is half past the hour. */
    private static void setHour(int hour) {
        LocalTime utc = LocalTime.now(ZoneOffset.UTC);
        int m = Math.floorMod(hour * 60 + 30 - utc.getHour() * 60 - utc.getMinute(), 1440);
        m = m > 720 ? m - 1440 : m;
        TimeZone.setDefault(TimeZone.getTimeZone(ZoneOffset.ofHoursMinutes(m / 60, m % 60)));
    }

    /** The strategy that a compacting writer of these options would have. */
    private static CompactStrategy strategy(CoreOptions options) throws Exception {
        Class<?> factory;
        try {
            factory = Class.forName(FACTORY);
        } catch (ClassNotFoundException e) {
            throw new J.Fail("pick needs Paimon 1.4");
        }
        Constructor<?> c = factory.getConstructors()[0];
        Object[] args = new Object[c.getParameterCount()];
        args[Arrays.asList(c.getParameterTypes()).indexOf(CoreOptions.class)] = options;
        Method m = factory.getDeclaredMethod("createCompactStrategy", CoreOptions.class);
        m.setAccessible(true);
        return (CompactStrategy) call(() -> m.invoke(c.newInstance(args), options));
    }

    /** Sets what a strategy remembers: the time since its last full compaction, and how many lookup triggers it let pass. */
    private static void prepare(CompactStrategy strategy, JsonNode n) throws Exception {
        Object universal = strategy;
        if (strategy.getClass().getSimpleName().equals("ForceUpLevel0Compaction")) {
            universal = get(strategy, "universal");
            Integer interval = (Integer) get(strategy, "maxCompactInterval");
            if (interval != null) {
                ((AtomicInteger) get(strategy, "compactTriggerCount")).set(n.path("force").asBoolean() ? interval - 1 : 0);
            }
        }
        Object early = get(universal, "earlyFullCompact");
        if (early != null && n.hasNonNull("sinceFull")) {
            Field f = early.getClass().getDeclaredField("lastFullCompaction");
            f.setAccessible(true);
            f.set(early, System.currentTimeMillis() - n.get("sinceFull").asLong());
        }
    }

    /** Lets a compact manager trigger; returns the task that it would run, or null. */
    private static Callable<?> trigger(
            CoreOptions options, Levels levels, CompactStrategy strategy, Comparator<InternalRow> order, RecordLevelExpire expire, boolean full)
            throws Exception {
        Callable<?>[] task = new Callable<?>[1];
        AbstractExecutorService executor =
                new Inert() {
                    @Override
                    public <T> Future<T> submit(Callable<T> t) {
                        task[0] = t;
                        return null;
                    }
                };
        List<Object> args =
                new ArrayList<>(
                        Arrays.asList(
                                executor, levels, strategy, order, options.targetFileSize(true), options.numSortedRunStopTrigger(), null, null,
                                options.deletionVectorsEnabled() ? noVectors() : null, false, options.needLookup(), expire, options.forceRewriteAllFiles(),
                                CoreOptions.class.getMethod("isChainTable").invoke(options)));
        Constructor<?> c = MergeTreeCompactManager.class.getConstructors()[0];
        MergeTreeCompactManager m = (MergeTreeCompactManager) call(() -> c.newInstance(args.toArray()));
        m.triggerCompaction(full);
        return task[0];
    }

    /** A bucket's deletion vectors, of which there are none. */
    private static Object noVectors() throws Exception {
        Constructor<?> c = BucketedDvMaintainer.class.getDeclaredConstructor(DeletionVectorsIndexFile.class, Map.class);
        c.setAccessible(true);
        return c.newInstance(new DeletionVectorsIndexFile(null, null, null, false), Collections.emptyMap());
    }

    private static List<Object> names(List<DataFileMeta> files) {
        List<Object> l = new ArrayList<>();
        files.forEach(f -> l.add(f.fileName()));
        return l;
    }

    private static Object get(Object o, String field) throws Exception {
        Field f = o.getClass().getDeclaredField(field);
        f.setAccessible(true);
        return f.get(o);
    }

    private static Object call(Callable<Object> c) throws Exception {
        try {
            return c.call();
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
        }
    }

    /** An executor that runs nothing. */
    private abstract static class Inert extends AbstractExecutorService {
        @Override
        public void execute(Runnable r) {}

        @Override
        public void shutdown() {}

        @Override
        public List<Runnable> shutdownNow() {
            return Collections.emptyList();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long t, TimeUnit u) {
            return true;
        }
    }
}

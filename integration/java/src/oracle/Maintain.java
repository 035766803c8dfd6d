package oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.operation.CleanOrphanFilesResult;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.operation.PartitionExpire;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.table.FileStoreTable;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Verbs orphans, expire-partitions, expire-changelogs: what Flink's procedures of these names do. */
final class Maintain {
    private Maintain() {}

    static void orphans(Args a) throws Exception {
        FileStoreTable t = Common.table(a);
        long older = a.getLong("older-than-ms", 86_400_000L);
        boolean dry = a.flag("dry-run");
        a.done();
        CleanOrphanFilesResult r =
                new LocalOrphanFilesClean(t, System.currentTimeMillis() - older, dry).clean();
        J.print(J.obj("files", r.getDeletedFileCount(), "bytes", r.getDeletedFileTotalLenInBytes()));
    }

    static void expirePartitions(Args a) throws Exception {
        FileStoreTable t = Common.table(a);
        String user = a.get("commit-user", "oracle-expire");
        long id = a.getLong("identifier", Long.MAX_VALUE);
        a.done();
        PartitionExpire e = t.store().newPartitionExpire(user, t);
        if (e == null) {
            throw new J.Fail("the table has no partition.expiration-time");
        }
        List<Map<String, String>> gone = e.expire(id);
        J.print(J.obj("partitions", gone == null ? 0 : gone.size()));
    }

    static void expireChangelogs(Args a) throws Exception {
        FileStoreTable t = Common.table(a);
        CoreOptions co = t.coreOptions();
        int max = a.getInt("retain-max", co.changelogNumRetainMax());
        int min = a.getInt("retain-min", Math.min(co.changelogNumRetainMin(), max));
        long older = a.getLong("older-than-ms", co.changelogTimeRetain().toMillis());
        a.done();
        int n =
                t.newExpireChangelog()
                        .config(
                                ExpireConfig.builder()
                                        .changelogRetainMax(max)
                                        .changelogRetainMin(min)
                                        .changelogTimeRetain(Duration.ofMillis(older))
                                        .changelogMaxDeletes(Integer.MAX_VALUE)
                                        .build())
                        .expire();
        J.print(J.obj("expired", n));
    }
}
